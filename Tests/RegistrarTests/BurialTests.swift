import JSONReader
import Notifications
import Testing

@testable import Registrar

@Suite("Which subscriptions of an address that nobody has any more are removed")
struct BurialTests {
    private static let token = "0a1b2c3d"
    private let address = AddressHash(of: token)

    /// What is left of what others have written after a provider's word at 1,000.
    private func left(
        _ subscriptions: [(Subscription, written: WallTime?)], _ platform: Platform = .fcm, app: ByteText? = nil,
        _ environment: PushEnvironment? = nil
    ) throws -> [String] {
        let world = try RegistrarWorld()
        for (subscription, time) in subscriptions {
            let key = SubscriptionKey(audience: subscription.audience, token: subscription.token)
            world.table.set(key, subscription.encoded(), written: time)
        }
        let evidence = Evidence(Death(platform, reason: "gone", at: 1_000), app: app, environment: environment)
        let command = Command(.buryAddress(address, evidence), by: .sender)
        let decision = try world.core.decide(command, at: 7, time: 2_000)
        let left = try world.table.subscriptions(of: address).map(\.audience.text)
        #expect(decision.verdict == (left.count < subscriptions.count ? .changed(revision: 7) : .gone))
        #expect(decision.subscriptions.count == subscriptions.count - left.count && decision.devices.isEmpty)
        return left
    }

    private func subscription(
        _ audience: String = "place/1", _ platform: Platform = .fcm, app: String = "shop",
        _ environment: PushEnvironment = .production, registered: WallTime? = nil, seen: WallTime? = nil
    ) -> Subscription {
        Subscription(
            audience: audience, token: Self.token, platform: platform, app: app, environment: environment,
            registeredAt: registered, lastSeenAt: seen)
    }

    @Test("one is dead if the newest of registered_at, last_seen_at and its record's time is before the evidence")
    func newest() throws {
        for (registered, seen, written, isDead) in [
            (999, 999, 999, true), (1_000, 999, 999, false), (999, 1_000, 999, false),
            (999, 999, 1_000, false), (nil, nil, 999, true), (nil, nil, nil, false), (999, nil, nil, true),
        ] as [(WallTime?, WallTime?, WallTime?, Bool)] {
            let left = try left([(subscription(registered: registered, seen: seen), written)])
            #expect(left.isEmpty == isDead, "\([registered, seen, written])")
        }
        #expect(try left([(subscription("place/1"), 999), (subscription("place/2"), 1_000)]) == ["place/2"])
    }

    @Test("APNs answers for a token, an app and an environment, FCM for a token alone")
    func targets() throws {
        func isDead(_ app: ByteText?, _ environment: PushEnvironment?) throws -> Bool {
            try left([(subscription("place/1", .apns, .development), 1)], .apns, app: app, environment).isEmpty
        }
        #expect(try isDead("shop", .development) && isDead(nil, nil))
        #expect(try !isDead("other", .development) && !isDead("shop", .production))
        #expect(try left([(subscription(app: "shop"), 1)]).isEmpty)
        #expect(try left([(subscription(), 1)], .apns) == ["place/1"])
    }

    @Test("the word about another app's device with the same token does not end this one's, nor its subscriptions")
    func otherApp() throws {
        var world = try RegistrarWorld()
        var change = DeviceChange("phone", isWhole: true)
        change.address = .set(.init(.apnsToken, ByteText(Self.token)))
        change.app = "shop"
        try world.decide(.changeDevice(change))
        let death = Death(.apns, reason: "Unregistered", at: world.time + 1)
        let other = Evidence(death, app: "other", environment: .production)
        #expect(try world.decide(.buryAddress(address, other), by: .sender) == Decision(.gone))
        let own = Evidence(death, app: "shop", environment: .production)
        #expect(try world.decide(.buryAddress(address, own), by: .sender).changes)
        #expect(world.devices["phone"]?.address == .dead(address, death))
    }

    @Test("a device that was seen since keeps what others have written for its address")
    func alive() throws {
        var world = try RegistrarWorld()
        let key = SubscriptionKey(audience: "place/9", token: Self.token)
        try world.decide(.put("phone", ByteText(Self.token)))
        world.table.set(key, subscription("place/9").encoded(), written: 1)
        let evidence = Evidence(Death(.fcm, reason: "UNREGISTERED", at: world.time))
        #expect(try world.decide(.buryAddress(address, evidence), by: .sender) == Decision(.gone))
        #expect(try world.table.subscriptions(of: address).contains { $0.audience == "place/9" })
    }

    @Test("what the table has of a subscription is read as it was stored")
    func stored() throws {
        var reader = JSONReader()
        let key = SubscriptionKey(audience: "place/1", token: Self.token)
        for value in [subscription("place/1", .apns, .development, seen: 5).encoded(), Array("{".utf8)] {
            let entry = SubscriptionEntry(key, value, written: 4, &reader)
            #expect(entry.bytes.count == SubscriptionEntry.size)
            #expect(SubscriptionEntry(entry.bytes + Array("place/1".utf8)) == entry)
        }
        #expect(SubscriptionEntry([1]) == nil)
    }
}

@Suite("What came between a decision and its null is written again")
struct OverwrittenTests {
    private let key = SubscriptionKey(audience: "place/7", token: "token-a")

    /// A record of somebody else, with a subscription of this time, or a null.
    private func theirs(_ offset: Int64, _ newest: WallTime?) -> LoggedSubscription {
        var record = LoggedSubscription(partition: 0, offset: offset, key: key)
        guard let newest else { return record }
        var reader = JSONReader()
        let value = Subscription(audience: key.audience, token: "token-a", platform: .fcm, app: "shop").encoded()
        record.entry = SubscriptionEntry(key, value, written: newest, &reader)
        (record.value, record.time) = (value, newest)
        return record
    }

    /// The registrar's null of the command 9 by evidence of 50, at which the records below 5 were known.
    private func null(_ offset: Int64, known: Int64 = 5) -> LoggedSubscription {
        var record = LoggedSubscription(partition: 0, offset: offset, key: key, command: 9)
        record.mark = BurialMark(evidence: 50, known: known)
        return record
    }

    private func reading(_ records: LoggedSubscription...) -> OwnWrites {
        var own = OwnWrites()
        own.committed([key], for: 9) { _ in BurialMark(evidence: 50, known: 5) }
        for record in records { _ = own.isNews(record) }
        return own
    }

    @Test("a subscription that is not older than the evidence is, the latest one, and nothing that was known")
    func subscription() throws {
        let own = reading(theirs(6, 50), theirs(7, 60), null(10))
        let entry = try #require(own.overwritten.values.first)
        #expect(own.overwritten.count == 1 && entry.theirs.offset == 7 && entry.theirs.time == 60)
        #expect(entry.mark == BurialMark(evidence: 50, known: 8))
        #expect(reading(theirs(4, 60), null(10)).overwritten.isEmpty)
        #expect(reading(theirs(6, 49), null(10)).overwritten.isEmpty)
        #expect(reading(theirs(6, 60), theirs(7, nil), null(10)).overwritten.isEmpty)
        #expect(reading(theirs(6, 60)).overwritten.isEmpty && reading(null(10)).overwritten.isEmpty)
        #expect(reading(theirs(6, 60), null(10), theirs(11, nil)).overwritten.isEmpty)
    }

    @Test(
        "what is no subscription, or too large, is not: it has no effect anywhere, or many of them would take all memory"
    )
    func unreadable() {
        var broken = theirs(6, 60)
        broken.value = nil
        #expect(reading(broken, null(10)).overwritten.isEmpty)
    }

    @Test("a null between a subscription and its copy is written again, until there is none")
    func chain() throws {
        var own = reading(theirs(7, 60), null(10))
        let first = try #require(own.overwritten.values.first)
        own.restored(first)
        #expect(own.overwritten.isEmpty)
        var copy = theirs(12, 60)
        (copy.command, copy.mark) = (9, first.mark)
        let news = [theirs(11, nil), copy].filter { own.isNews($0) }
        #expect(news.isEmpty)
        let second = try #require(own.overwritten.values.first)
        #expect(second.theirs.entry == nil && second.mark == BurialMark(evidence: 50, known: 12))
        own.restored(second)
        let isNews = own.isNews(null(13, known: 12))
        #expect(!isNews && own.overwritten.isEmpty && own.needed.isEmpty)
    }

    @Test("a command that writes the key meanwhile counts, and nothing is written again")
    func newer() {
        var own = reading(theirs(6, 60), null(10))
        #expect(own.needed == [0: 6])
        own.committed([key], for: 10)
        #expect(own.overwritten.isEmpty && own.needed.isEmpty)
    }

    @Test("a registrar that begins reads what it has to look at once more, from the offset that was known")
    func doubt() throws {
        var own = OwnWrites()
        let mark = BurialMark(evidence: 50, known: 5)
        own.note(.init(own: .init(command: 9, mark: mark), partition: 0), of: ByteText(key.text))
        #expect(own.needed == [0: 5])
        let news = [theirs(6, 60), null(10)].filter { own.isNews($0) }
        #expect(news.isEmpty)
        #expect(own.overwritten.values.map(\.theirs.offset) == [6] && own.needed == [0: 6])
    }

    @Test("a mark is two numbers")
    func marks() {
        #expect(BurialMark("1000/40") == BurialMark(evidence: 1_000, known: 40))
        #expect(BurialMark(evidence: 1_000, known: 40).text == "1000/40")
        for text in ["", "1", "1/", "/1", "1/2/3", "-1/2", "a/b"] { #expect(BurialMark(text) == nil) }
    }
}
