import StageSupport
import Testing

@testable import Notifications

@Suite("A host's own token resolver")
struct TokenResolverTests {
    struct Failure: Error, Equatable {}

    /// Returns the result of a closure.
    struct Resolver: TokenResolver {
        var body: @Sendable (borrowing AudienceList, inout DeviceList) throws -> Void

        func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) throws {
            try body(audiences, &devices)
        }
    }

    private func makeFanOut(
        maxDevices: Int = Int.max - 1,
        _ body: @escaping @Sendable (borrowing AudienceList, inout DeviceList) throws -> Void
    ) throws -> FanOut {
        try FanOut(
            audienceRule: OrderAudiences(), recipients: .resolver(Resolver(body: body)), maxAge: .seconds(86_400),
            maxDevices: maxDevices)
    }

    @Test("an answer is whole, also where it repeats a device more often than an event may have devices")
    func repeated() throws {
        var batch = EventBatch()
        batch.add()
        var fanOut = try makeFanOut(maxDevices: 2) { audiences, devices in
            for _ in 0..<3 { devices.append(token: "same", platform: .fcm, app: "", to: 0) }
        }
        try fanOut.beginTransaction()
        #expect(try fanOut.resolve(batch, from: 0, limit: 100) == 1)
        let recipients = fanOut.recipients(of: 0, in: batch)
        #expect(recipients.devices.count == 1 && !recipients.isTruncated)
    }

    @Test("equal audiences of a batch are queried once")
    func shared() throws {
        var batch = EventBatch()
        for place in ["7", "7", "8", "7"] {
            batch.add(place: place)
        }
        var fanOut = try makeFanOut { audiences, devices in
            var asked: [String] = []
            for index in 0..<audiences.count {
                asked.append(audiences[index])
            }
            #expect(asked == ["place/7", "place/8"])
            for index in 0..<audiences.count {
                devices.append(token: "t-" + audiences[index].dropFirst(6), platform: .fcm, app: "", to: index)
            }
        }
        try fanOut.beginTransaction()
        #expect(fanOut.tableOffsets == nil)
        #expect(try fanOut.resolve(batch, from: 0, limit: 10) == 4)
        for (notification, token) in ["t-7", "t-7", "t-8", "t-7"].enumerated() {
            #expect(fanOut.tokens(of: notification, in: batch) == [token])
        }
    }

    @Test("its error is rethrown")
    func failure() throws {
        var batch = EventBatch()
        batch.add()
        var fanOut = try makeFanOut { _, _ in throw Failure() }
        do {
            _ = try fanOut.resolve(batch, from: 0, limit: 10)
            Issue.record("the error was lost")
        } catch {
            #expect(error as? Failure == Failure())
        }
    }

    @Test("devices that cannot be sent to are left out and counted, and duplicates are sent to once")
    func rejected() throws {
        var batch = EventBatch()
        batch.add()
        var fanOut = try makeFanOut { _, devices in
            let added = [
                devices.append(token: "good", platform: .fcm, app: "", to: 0),
                devices.append(token: "good", platform: .fcm, app: "", to: 0),
                devices.append(token: "0a0B", platform: .apns, app: "com.example.App", to: 0),
            ]
            let rejected = [
                devices.append(token: "", platform: .fcm, app: "", to: 0),
                devices.append(token: "two words", platform: .fcm, app: "", to: 0),
                devices.append(token: String(repeating: "t", count: 4_097), platform: .fcm, app: "", to: 0),
                devices.append(token: "abc", platform: .apns, app: "com.example.App", to: 0),
                devices.append(token: "00", platform: .apns, app: "", to: 0),
                devices.append(token: "no-audience", platform: .fcm, app: "", to: 1),
                devices.append(token: "no-audience", platform: .fcm, app: "", to: -1),
            ]
            #expect(added == [true, true, true])
            #expect(!rejected.contains(true))
        }
        _ = try fanOut.resolve(batch, from: 0, limit: 10)
        #expect(fanOut.rejectedDevices == 7)
        #expect(fanOut.tokens(of: 0, in: batch) == ["good", "0a0B"])
    }

    @Test("audiences may come in any order, and stale devices are left out, as from the table")
    func anyOrder() throws {
        var batch = EventBatch()
        batch.add(place: "1")
        batch.add(place: "2")
        var fanOut = try makeFanOut { _, devices in
            devices.append(token: "second", platform: .fcm, app: "", to: 1)
            devices.append(token: "first", platform: .fcm, app: "", lastSeen: noon, to: 0)
            devices.append(token: "stale", platform: .fcm, app: "", lastSeen: 0, to: 0)
            devices.append(token: "third", platform: .fcm, app: "", to: 1)
        }
        _ = try fanOut.resolve(batch, from: 0, limit: 10)
        #expect(fanOut.tokens(of: 0, in: batch) == ["first"])
        #expect(fanOut.recipients(of: 0, in: batch).stale == 1)
        #expect(fanOut.tokens(of: 1, in: batch) == ["second", "third"])
    }

    @Test("over the limit, whole events are kept and the next call of the resolver covers fewer notifications")
    func window() throws {
        var batch = EventBatch()
        for place in 0..<100 {
            batch.add(place: "\(place)")
            batch.add(place: "\(place)", isSameEvent: true)
        }
        var fanOut = try makeFanOut { audiences, devices in
            for index in 0..<audiences.count {
                for device in 0..<10 {
                    devices.append(token: "\(audiences[index])-\(device)", platform: .fcm, app: "", to: index)
                }
            }
        }
        var first = 0
        var rounds = 0
        while first < batch.notifications.count {
            let end = try fanOut.resolve(batch, from: first, limit: 50)
            #expect(end > first && end % 2 == 0)
            for index in first..<end {
                #expect(fanOut.tokens(of: index, in: batch).count == 10)
            }
            first = end
            rounds += 1
        }
        #expect((30...60).contains(rounds))
    }
}
