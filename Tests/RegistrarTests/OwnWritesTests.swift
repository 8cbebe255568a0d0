import Notifications
import Testing

@testable import Registrar

/// What others have written and what the registrar writes meet in one topic, and are read later than they are written.
@Suite("Which subscriptions of the log are news to the registrar")
struct OwnWritesTests {
    private let key = SubscriptionKey(audience: "place/7", token: "token-a")
    private let other = SubscriptionKey(audience: "place/8", token: "token-a")

    /// Which of these records are news, in their order.
    private func news(_ own: inout OwnWrites, _ records: (SubscriptionKey, command: Int64?)...) -> [Bool] {
        records.map { own.isNews(LoggedSubscription(partition: 0, offset: 0, key: $0.0, command: $0.command)) }
    }

    @Test("another's record is, where nothing of its own is under way for the key")
    func foreign() {
        var own = OwnWrites()
        own.committed([other], for: 7)
        #expect(news(&own, (key, nil), (other, nil)) == [true, false])
    }

    @Test("another's record that comes before its own one does not undo it; one that comes afterwards counts")
    func order() {
        var own = OwnWrites()
        own.committed([key], for: 7)
        #expect(news(&own, (key, nil), (key, 7), (key, nil)) == [false, false, true])
    }

    @Test("of several of its own for one key the last one ends the wait, also where an older one was compacted away")
    func several() {
        var own = OwnWrites()
        own.committed([key], for: 7)
        own.committed([key, other], for: 9)
        #expect(news(&own, (key, 7), (key, nil), (key, 9)) == [false, false, false])
        // Nothing of it is under way any more.
        #expect(news(&own, (key, 9), (other, nil)) == [true, false])
        own.forgetAll()
        #expect(news(&own, (other, nil)) == [true])
    }

    @Test("keys are compared by bytes, as Kafka does")
    func bytes() {
        var own = OwnWrites()
        own.committed([SubscriptionKey(audience: "channel/caf\u{E9}", token: "token-a")], for: 7)
        #expect(news(&own, (SubscriptionKey(audience: "channel/cafe\u{301}", token: "token-a"), nil)) == [true])
    }
}
