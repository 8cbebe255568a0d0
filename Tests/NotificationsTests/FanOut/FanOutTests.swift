import StageSupport
import Testing

@testable import Notifications

@Suite("Fan-out")
struct FanOutTests {
    @Test("a notification goes to every device of its place, and to no other")
    func place() throws {
        var batch = EventBatch()
        batch.add(place: "7")
        batch.add(place: "8")
        batch.add(place: "9")
        var fanOut = try makeFanOut([
            .fcm("a"), .fcm("b"), .apns("0a"), .fcm("c", of: "place/8"), .fcm("d", of: "user/7"),
        ])
        #expect(try fanOut.resolve(batch, from: 0, limit: 100) == 3)
        #expect(fanOut.tokens(of: 0, in: batch).sorted() == ["0a", "a", "b"])
        #expect(fanOut.tokens(of: 1, in: batch) == ["c"])
        #expect(fanOut.recipients(of: 2, in: batch) == Recipients(devices: 0..<0, platforms: [], stale: 0))
        #expect(fanOut.recipients(of: 0, in: batch).platforms == [PlatformSet(.fcm), PlatformSet(.apns)])
        #expect(fanOut.recipients(of: 1, in: batch).platforms == PlatformSet(.fcm))
    }

    @Test("devices come in the order of their token hashes")
    func order() throws {
        var batch = EventBatch()
        batch.add()
        let subscriptions = (0..<20).map { Subscription.fcm("token-\($0)") }
        var fanOut = try makeFanOut(subscriptions)
        _ = try fanOut.resolve(batch, from: 0, limit: 100)
        let expected = subscriptions.sorted { $0.tokenHash < $1.tokenHash }.map(\.token)
        #expect(fanOut.tokens(of: 0, in: batch) == expected)
    }

    @Test(
        "§5.3 row 20: a device last seen longer before the event than subscriptions.max-age is left out",
        arguments: [(270 * day, false), (270 * day + 1, true), (-5 * day, false)] as [(Int64, Bool)])
    func stale(age: Int64, isStale: Bool) throws {
        var batch = EventBatch()
        batch.add()
        let lastSeen = noon - age
        var fanOut = try makeFanOut([.fcm("old", lastSeen: lastSeen), .fcm("new"), .fcm("unknown", lastSeen: nil)])
        _ = try fanOut.resolve(batch, from: 0, limit: 100)
        #expect(fanOut.recipients(of: 0, in: batch).stale == (isStale ? 1 : 0))
        #expect(fanOut.tokens(of: 0, in: batch).contains("old") == !isStale)
        #expect(fanOut.tokens(of: 0, in: batch).contains("unknown"))
    }

    @Test("more devices than are read are said, also where stale ones make them few enough")
    func truncated() throws {
        var batch = EventBatch()
        batch.add()
        let subscriptions: [Subscription] = [.fcm("a"), .fcm("b"), .fcm("c"), .fcm("d", lastSeen: noon - 300 * day)]
        for (limit, isTruncated) in [(2, true), (3, true), (4, false)] {
            var fanOut = try makeFanOut(subscriptions, maxDevices: limit)
            _ = try fanOut.resolve(batch, from: 0, limit: 100)
            #expect(fanOut.recipients(of: 0, in: batch).isTruncated == isTruncated)
        }
    }

    @Test("§5.3 row 20: where only stale devices are left there is no recipient, and each is counted")
    func onlyStale() throws {
        var batch = EventBatch()
        batch.add()
        var fanOut = try makeFanOut([.fcm("a"), .fcm("b")], maxAge: .seconds(-1))
        _ = try fanOut.resolve(batch, from: 0, limit: 100)
        #expect(fanOut.recipients(of: 0, in: batch) == Recipients(devices: 0..<0, platforms: [], stale: 2))
    }

    /// Place, and every device in the channel `all`, which some rules give twice.
    struct PlaceAndChannel: AudienceRule {
        var isReversed = false

        func addAudiences(
            of events: borrowing EventBatch, notifications: Range<Int>, to audiences: inout AudienceList
        ) {
            for index in isReversed ? Array(notifications.reversed()) : Array(notifications) {
                switch events.notifications[index].kind {
                case .request: break
                case .order(let order): audiences.append("place/" + events.string(order.placeID), for: index)
                }
                audiences.append("channel/all", for: index)
                audiences.append("channel/all", for: index)
            }
        }
    }

    @Test(
        "several audiences are a union, each device once, in whatever order the rule gives them",
        arguments: [false, true])
    func union(isReversed: Bool) throws {
        var batch = EventBatch()
        batch.add(place: "7")
        batch.add(place: "8")
        var fanOut = try makeFanOut(
            [
                .fcm("both"), .fcm("both", of: "channel/all"), .fcm("place"), .fcm("channel", of: "channel/all"),
                .fcm("eight", of: "place/8"),
            ], rule: PlaceAndChannel(isReversed: isReversed))
        #expect(try fanOut.resolve(batch, from: 0, limit: 100) == 2)
        #expect(fanOut.tokens(of: 0, in: batch).sorted() == ["both", "channel", "place"])
        #expect(fanOut.tokens(of: 1, in: batch).sorted() == ["both", "channel", "eight"])
    }

    @Test("a device that is stale under one audience but not another is sent to, and counts as left out of the one")
    func staleUnion() throws {
        var batch = EventBatch()
        batch.add()
        let longAgo: WallTime = 0
        var fanOut = try makeFanOut(
            [.fcm("t", lastSeen: longAgo), .fcm("t", of: "channel/all"), .fcm("gone", lastSeen: longAgo)],
            rule: PlaceAndChannel())
        _ = try fanOut.resolve(batch, from: 0, limit: 100)
        #expect(fanOut.tokens(of: 0, in: batch) == ["t"])
        let recipients = fanOut.recipients(of: 0, in: batch)
        #expect(recipients.stale == 2)
        for position in recipients.devices {
            #expect(fanOut.audience(of: fanOut.recipient(position)).elementsEqual("channel/all".utf8))
        }
    }

    @Test("the limit ends a call after a whole event, and the next call resolves the rest")
    func limit() throws {
        var batch = EventBatch()
        batch.add(place: "7")
        batch.add(place: "7", isSameEvent: true)
        batch.add(place: "7", isSameEvent: true)
        batch.add(place: "8")
        batch.add(place: "7")
        var fanOut = try makeFanOut([.fcm("a"), .fcm("b"), .fcm("c", of: "place/8")])
        #expect(try fanOut.resolve(batch, from: 0, limit: 1) == 3)
        #expect(fanOut.tokens(of: 2, in: batch).count == 2)
        #expect(fanOut.tokens(of: 3, in: batch).isEmpty)
        #expect(try fanOut.resolve(batch, from: 3, limit: 1) == 5)
        #expect(fanOut.tokens(of: 3, in: batch) == ["c"])
        #expect(fanOut.tokens(of: 4, in: batch).count == 2)
        #expect(try fanOut.resolve(batch, from: 0, limit: 6) == 4)
        #expect(try fanOut.resolve(batch, from: 0, limit: 100) == 5)
    }

    @Test("an empty batch resolves to nothing")
    func empty() throws {
        let batch = EventBatch()
        var fanOut = try makeFanOut([])
        #expect(try fanOut.resolve(batch, from: 0, limit: 10) == 0)
    }

    @Test("a change of the table is visible to the next transaction, not to the open one")
    func snapshots() throws {
        var batch = EventBatch()
        batch.add()
        let table = SubscriptionTable.inMemory()
        try table.apply([TableRecord(.fcm("a"))], next: 1)
        var fanOut = try FanOut(audienceRule: OrderAudiences(), recipients: .table(table), maxAge: .seconds(1))
        try fanOut.beginTransaction()
        try table.apply([TableRecord(.fcm("b")), TableRecord(removing: .fcm("a"))], next: 3)
        _ = try fanOut.resolve(batch, from: 0, limit: 10)
        #expect(fanOut.tokens(of: 0, in: batch) == ["a"])
        #expect(fanOut.tableOffsets == [1])
        try fanOut.beginTransaction()
        _ = try fanOut.resolve(batch, from: 0, limit: 10)
        #expect(fanOut.tokens(of: 0, in: batch) == ["b"])
        #expect(fanOut.tableOffsets == [3])
    }

    @Test("an audience with too many devices is read up to one device over the limit")
    func maxDevices() throws {
        var batch = EventBatch()
        batch.add()
        let table = SubscriptionTable.inMemory()
        try table.apply((0..<50).map { TableRecord(.fcm("token-\($0)")) })
        var fanOut = try FanOut(
            audienceRule: OrderAudiences(), recipients: .table(table), maxAge: .seconds(1), maxDevices: 10)
        try fanOut.beginTransaction()
        _ = try fanOut.resolve(batch, from: 0, limit: 100)
        #expect(fanOut.recipients(of: 0, in: batch).devices.count == 11)
    }

    struct WrongRule: AudienceRule {
        func addAudiences(
            of events: borrowing EventBatch, notifications: Range<Int>, to audiences: inout AudienceList
        ) {
            audiences.append("user/1", for: notifications.upperBound)
        }
    }

    @Test("a rule that names a notification outside its range is an error, not a crash")
    func wrongRule() throws {
        var batch = EventBatch()
        batch.add()
        var fanOut = try makeFanOut([], rule: WrongRule())
        do {
            _ = try fanOut.resolve(batch, from: 0, limit: 10)
            Issue.record("the rule's answer was accepted")
        } catch {
            #expect(error is AudienceRuleError)
        }
    }

    @Test("100,000 devices of one place are each found once, since the limit ends after a whole event")
    func hundredThousand() throws {
        let table = SubscriptionTable.inMemory()
        try table.apply((0..<100_000).map { TableRecord(.fcm("token-\($0)")) })
        var batch = EventBatch()
        batch.add()
        batch.add()
        var fanOut = try FanOut(audienceRule: OrderAudiences(), recipients: .table(table), maxAge: .seconds(1))
        try fanOut.beginTransaction()
        #expect(try fanOut.resolve(batch, from: 0, limit: 50_000) == 1)
        let recipients = fanOut.recipients(of: 0, in: batch)
        #expect(recipients.devices.count == 100_000)
        var hashes = Set<UInt64>()
        for position in recipients.devices {
            hashes.insert(fanOut.recipient(position).tokenHash.loadUnaligned(as: UInt64.self))
        }
        #expect(hashes.count == 100_000)
        #expect(try fanOut.resolve(batch, from: 1, limit: 50_000) == 2)
    }
}
