import Notifications
import Testing

@testable import Sender

@Suite("A newer push with the collapse key of both requests")
struct SupersededTests {
    /// A push of device 1, as a request gives it; without a key as an order does.
    private static func push(_ source: Int64, _ key: String?, _ platform: Platform = .fcm) -> LaneRecord {
        var record = Lane.record(.orders, source)
        record.platform = platform
        let value =
            switch (platform, key) {
            case (.fcm, let key?):
                #"{"message":{"data":{"a":"}"},"android":{"collapse_key":"\#(key)"},"apns":{"headers":{"apns-collapse-id":"\#(key)"}}}}"#
            case (.fcm, nil): #"{"message":{"android":{},"apns":{"headers":{"apns-collapse-id":"m\#(source)"}}}}"#
            case (.apns, let key): #"{"headers":{"apns-collapse-id":"\#(key ?? "m\(source)")"},"payload":{}}"#
            }
        record.value = Array(value.utf8)
        return record
    }

    /// What becomes of pushes of one device that all wait while its first is in flight.
    private func ends(_ keys: [String?], _ platform: Platform = .fcm) -> [DeliveryOutcome] {
        var lane = Lane()
        #expect(lane.core.dispatch(Self.push(0, "first", platform), now: 0) == true)
        let first = lane.core.takeRequests(now: 0)
        for (index, key) in keys.enumerated() {
            #expect(lane.core.dispatch(Self.push(Int64(index) + 1, key, platform), now: 0) == true)
        }
        _ = lane.core.answer(first[0].tag, .accepted(providerID: nil), status: 200, now: 0)
        var outcomes: [DeliveryRecord] = []
        for _ in 0...keys.count {
            lane.exchange(.accepted(providerID: nil), status: 200, now: 0)
            outcomes += lane.commit().outcomes
        }
        #expect(outcomes.map(\.offset) == Array(0...Int64(keys.count)))
        return outcomes.dropFirst().map(\.outcome)
    }

    @Test("of those that wait only the newest of each key is sent, in order", arguments: [Platform.fcm, .apns])
    func newest(platform: Platform) {
        #expect(
            ends(["a", "a", "b", "a", "c"], platform) == [.superseded, .superseded, .accepted, .accepted, .accepted])
    }

    @Test("pushes of orders and requests without a key are all sent", arguments: [Platform.fcm, .apns])
    func withoutKey(platform: Platform) {
        #expect(ends([nil, nil, "a", nil], platform) == [.accepted, .accepted, .accepted, .accepted])
    }

    @Test("one in flight is not superseded; it is when it waits for another attempt, with its attempts in the outcome")
    func again() {
        var lane = Lane()
        #expect(lane.core.dispatch(Self.push(0, "a"), now: 0) == true)
        let first = lane.core.takeRequests(now: 0)
        #expect(lane.core.dispatch(Self.push(1, "a"), now: 0) == true)
        #expect(lane.send().isEmpty)
        _ = lane.core.answer(first[0].tag, unavailable, status: 503, now: 0)
        for (offset, retry) in lane.commit().retries.enumerated() { lane.retry(retry, at: Int64(offset), now: 20_000) }
        #expect(lane.send(now: 20_000).isEmpty)
        let outcome = lane.commit(now: 20_000).outcomes
        #expect(outcome.map(\.outcome) == [.superseded] && outcome.first?.attempts == 1)
        #expect(outcome.first?.reason == "UNAVAILABLE")
        // It waited in Kafka.
        lane.core.found(
            Self.push(1, "a"), nil, at: 1, of: .dispatch(.orders), appendedAt: 0, now: 20_000)
        #expect(lane.send(now: 20_000) == [1])
    }

    @Test("an expired one supersedes nothing, and those before it still do")
    func expired() {
        var lane = Lane()
        #expect(lane.core.dispatch(Self.push(0, "first"), now: 0) == true)
        let first = lane.core.takeRequests(now: 0)
        for offset in 1...2 as ClosedRange<Int64> {
            #expect(lane.core.dispatch(Self.push(offset, "a"), now: 0) == true)
        }
        var late = Self.push(3, "a")
        late.expiresAt = 0
        #expect(lane.core.dispatch(late, now: 0) == true)
        _ = lane.core.answer(first[0].tag, .accepted(providerID: nil), status: 200, now: 0)
        #expect(lane.commit().outcomes.map(\.outcome) == [.expired, .accepted])
        #expect(lane.send() == [2])
        #expect(lane.commit().outcomes.map(\.outcome) == [.superseded])
    }
}
