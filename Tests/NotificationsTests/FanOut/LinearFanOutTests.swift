import StageSupport
import TestSupport
import Testing

@testable import Notifications

@Suite("The time of a fan-out grows as its input does")
struct LinearFanOutTests {
    @Test("a list whose place has many stale devices looks at each of them once")
    func staleList() throws {
        func fanOut(_ size: Int) throws -> FanOut {
            let stale = (0..<size).map { Subscription.fcm("old-\($0)", lastSeen: noon - 300 * day) }
            return try makeFanOut(stale + [.fcm("new")])
        }
        func run(_ fanOut: inout FanOut, _ size: Int) throws {
            var batch = EventBatch()
            for id in 0..<size { batch.add(orderID: "\(id)", isSameEvent: id > 0) }
            _ = try fanOut.resolve(batch, from: 0, limit: 1_000)
            for index in 0..<size {
                let recipients = fanOut.recipients(of: index, in: batch)
                #expect(recipients.devices.count == 1 && recipients.stale == size)
            }
        }
        var once = try fanOut(1_000)
        var twice = try fanOut(2_000)
        let growth = try Growth({ try run(&once, 1_000) }, twice: { try run(&twice, 2_000) })
        #expect(growth.isLinear, "\(growth)")
    }

    /// The place, and the user whose id is the order's.
    struct PlaceAndUser: AudienceRule {
        func addAudiences(
            of events: borrowing EventBatch, notifications: Range<Int>, to audiences: inout AudienceList
        ) {
            for index in notifications {
                switch events.notifications[index].kind {
                case .request: break
                case .order(let order):
                    audiences.append("place/" + events.string(order.placeID), for: index)
                    audiences.append("user/" + events.string(order.orderID), for: index)
                }
            }
        }
    }

    @Test(
        "so does one whose orders have a user each beside the place, or the same one",
        arguments: [true, false])
    func staleListOfUsers(haveEachOne: Bool) throws {
        func fanOut(_ size: Int) throws -> FanOut {
            let stale = (0..<size).map { Subscription.fcm("old-\($0)", lastSeen: noon - 300 * day) }
            let users = (0..<size).flatMap {
                [Subscription.fcm("u-\($0)", of: "user/\($0)"), .fcm("new", of: "user/\($0)")]
            }
            return try makeFanOut(stale + [.fcm("new")] + users, rule: PlaceAndUser())
        }
        func run(_ fanOut: inout FanOut, _ size: Int) throws {
            var batch = EventBatch()
            for id in 0..<size { batch.add(orderID: haveEachOne ? "\(id)" : "0", isSameEvent: id > 0) }
            _ = try fanOut.resolve(batch, from: 0, limit: 1_000)
            for index in 0..<size {
                let recipients = fanOut.recipients(of: index, in: batch)
                #expect(recipients.devices.count == 2 && recipients.stale == size)
            }
        }
        var once = try fanOut(1_000)
        var twice = try fanOut(2_000)
        let growth = try Growth({ try run(&once, 1_000) }, twice: { try run(&twice, 2_000) })
        #expect(growth.isLinear, "\(growth)")
    }

    /// The place's devices, and those of as many channels as there are devices.
    struct ManyChannels: AudienceRule {
        var count: Int

        func addAudiences(
            of events: borrowing EventBatch, notifications: Range<Int>, to audiences: inout AudienceList
        ) {
            for index in notifications {
                for channel in 0..<count { audiences.append("channel/\(channel)", for: index) }
            }
        }
    }

    @Test("many audiences of one notification, with one device in all of them")
    func manyAudiences() throws {
        func trial(_ size: Int) throws -> FanOut {
            try makeFanOut(
                (0..<size).flatMap { [.fcm("all", of: "channel/\($0)"), .fcm("\($0)", of: "channel/\($0)")] },
                rule: ManyChannels(count: size))
        }
        func run(_ fanOut: inout FanOut, _ size: Int) throws {
            var batch = EventBatch()
            batch.add()
            _ = try fanOut.resolve(batch, from: 0, limit: 1_000)
            #expect(fanOut.recipients(of: 0, in: batch).devices.count == size + 1)
        }
        var once = try trial(1_000)
        var twice = try trial(2_000)
        let growth = try Growth({ try run(&once, 1_000) }, twice: { try run(&twice, 2_000) })
        #expect(growth.isLinear, "\(growth)")
    }

    @Test("audiences that collide in one list do not in another: nobody can choose them")
    func collidingAudiences() {
        let known = AudienceIndex()
        let other = AudienceIndex()
        var slots = Set<UInt32>()
        var found = 0
        for number in 0..<100_000 where found < 200 {
            var text = "place/\(number)"
            text.withUTF8 { text in
                guard known.hash(UnsafeRawBufferPointer(text)) % 256 == 0 else { return }
                found += 1
                slots.insert(other.hash(UnsafeRawBufferPointer(text)) % 256)
            }
        }
        #expect(found == 200)
        #expect(slots.count > 100)
    }

    @Test(
        "tokens whose hashes end alike do not begin at one place, whatever the seed",
        arguments: [0, 1, 1 << 32, 0x9E37_79B9_7F4A_7C15, .max, .random(in: .min ... .max)] as [UInt64])
    func collidingTokens(seed: UInt64) {
        func trial(_ size: Int) -> [Device] {
            (0..<size).map { number in
                let hash = UnsafeMutableRawPointer.allocate(byteCount: 32, alignment: 8)
                hash.initializeMemory(as: UInt64.self, repeating: UInt64(number) << 32, count: 4)
                return Device(
                    hashStart: hash, tokenStart: hash, appStart: hash, tokenCount: 32, appCount: 0,
                    kind: .registrationToken,
                    environment: .production, needsEscaping: false, localeCount: 0, audience: 0,
                    lastSeenMilliseconds: Device.unknownTime)
            }
        }
        func run(_ set: inout DeviceSet, _ devices: [Device]) {
            set.reset(for: devices.count)
            let count = devices.indices.count { set.insert($0, in: devices) }
            #expect(count == devices.count)
        }
        let (small, large) = (trial(2_000), trial(4_000))
        var once = DeviceSet(seed: seed)
        var twice = DeviceSet(seed: seed)
        let growth = Growth({ run(&once, small) }, twice: { run(&twice, large) })
        #expect(growth.isLinear, "\(growth)")
        for device in small + large { UnsafeMutableRawPointer(mutating: device.hashStart).deallocate() }
    }

    @Test("a small set costs the same after a huge one")
    func smallAfterHuge() {
        var fresh = DeviceSet()
        var used = DeviceSet()
        fresh.reset(for: 1_000)
        used.reset(for: 1 << 20)
        let growth = Growth({ fresh.reset(for: 1_000) }, twice: { used.reset(for: 1_000) })
        #expect(growth.isLinear, "\(growth)")
    }

    @Test("what the audiences of an event have is read up to one device over the limit, in whatever batch it is")
    func places() throws {
        let devices = (0..<9).map { Subscription.fcm("\($0)", of: "place/\($0 / 3)", lastSeen: noon - 300 * day) }
        var batch = EventBatch()
        batch.add(place: "2")
        for place in 0..<3 { batch.add(place: "\(place)", isSameEvent: place > 0) }
        for (limit, cut) in [(5, [false, false, true, true]), (8, [false, false, false, true]), (9, [])] {
            for first in [0, 1] {
                var fanOut = try makeFanOut(devices, maxDevices: limit)
                _ = try fanOut.resolve(batch, from: first, limit: 100)
                let expected = (cut.isEmpty ? [false, false, false, false] : cut)[first...]
                let seen = (first..<4).map { fanOut.recipients(of: $0, in: batch).isTruncated }
                #expect(seen == Array(expected))
            }
        }
    }
}
