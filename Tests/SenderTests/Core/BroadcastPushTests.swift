import Notifications
import Pipeline
import Testing

@testable import Sender

/// docs/rules.md §13
@Suite("A lane: broadcasts beside orders")
struct BroadcastPushTests {
    private let start: WallTime = 1_000_000

    private func view(_ offsets: Int64..., reached: Int64) -> BroadcastView {
        BroadcastView(
            records: offsets.map { BroadcastRecord(offset: $0, timestamp: nil, key: [UInt8($0)], value: []) },
            reached: reached)
    }

    /// It knows the broadcast 5 and sees it as it is at the start.
    private func lane(_ change: (inout LaneSettings) -> Void = { _ in }) -> Lane {
        var lane = Lane(hasBroadcasts: true) {
            $0.own = [0]
            change(&$0)
        }
        lane.core.see(view(5, reached: 8), askedAt: start)
        return lane
    }

    @Test("orders are sent before broadcasts that were read before them; the outcome of each names its topic")
    func ordersFirst() {
        var lane = lane()
        for device in 0..<3 as Range<UInt64> { lane.dispatch(.broadcasts, device: device, broadcast: 5, now: start) }
        for device in 10..<12 as Range<UInt64> { lane.dispatch(device: device, now: start) }
        let requests = lane.core.takeRequests(now: start)
        #expect(requests.map(\.record.messageID) == ["m0", "m1", "b0", "b1", "b2"])
        for request in requests {
            _ = lane.core.answer(request.tag, .accepted(providerID: nil), status: 200, now: start)
        }
        let written = lane.commit(now: start)
        #expect(
            written.outcomes.map(\.topic) == ["dispatch", "dispatch"]
                + [String](repeating: "dispatch.broadcasts", count: 3))
        #expect(written.outcomes.map(\.offset) == [0, 1, 0, 1, 2])
        #expect(written.commits.map(\.stream) == [.dispatch(.orders), .dispatch(.broadcasts)])
        #expect(written.commits.map(\.offset.offset) == [2, 3])
    }

    @Test("while orders wait for the rate, every second token is a broadcast's; alone, each has all of it")
    func halfOfTheRate() {
        let both = aSecond(1_500, 1_500)
        #expect((495...505).contains(both.orders) && (495...505).contains(both.broadcasts))
        #expect((995...1_001).contains(aSecond(0, 1_500).broadcasts))
        #expect((995...1_001).contains(aSecond(1_500, 0).orders))
        // A few orders have all that they need.
        let few = aSecond(100, 1_500)
        #expect(few.orders > 50 && few.orders + few.broadcasts >= 995 && few.broadcasts > 850)
    }

    /// What is sent within a second at the full rate, which is one a millisecond, after a minute in which it has grown.
    private func aSecond(_ orders: UInt64, _ broadcasts: UInt64) -> (orders: Int, broadcasts: Int) {
        var lane = lane { $0.perMinute = [180_000, nil] }
        for device in 0..<orders { lane.dispatch(device: device, now: start) }
        for device in 0..<broadcasts { lane.dispatch(.broadcasts, device: 10_000 + device, broadcast: 5, now: start) }
        var sent: [PushKind: Int] = [:]
        for now in [start] + stride(from: 60_000, through: 61_000, by: 10).map({ start + $0 }) {
            lane.core.see(view(5, reached: 8), askedAt: now)
            for request in lane.core.takeRequests(now: now) {
                _ = lane.core.answer(request.tag, .accepted(providerID: nil), status: 200, now: now)
                if now > start + 60_000 { sent[request.record.kind, default: 0] += 1 }
            }
        }
        return (sent[.orders] ?? 0, sent[.broadcasts] ?? 0)
    }

    @Test(
        "broadcasts have three quarters of the places in flight, and half while orders wait: an order finds one at once"
    )
    func slots() {
        var lane = lane { $0.inFlight = 8 }
        for device in 0..<20 as Range<UInt64> { lane.dispatch(.broadcasts, device: device, broadcast: 5, now: start) }
        #expect(lane.sendNames(now: start).count == 6)
        for device in 100..<110 as Range<UInt64> { lane.dispatch(device: device, now: start) }
        var requests = lane.core.takeRequests(now: start)
        #expect(requests.map(\.record.messageID) == ["m0", "m1"])
        // Tag 1 to 6 are broadcasts: their slots are the orders', as long as those wait.
        for tag in 1...2 as ClosedRange<UInt64> {
            _ = lane.core.answer(tag, .accepted(providerID: nil), status: 200, now: start)
        }
        requests = lane.core.takeRequests(now: start)
        #expect(requests.map(\.record.messageID) == ["m2", "m3"])
    }

    @Test("orders that wait for something else than a place leave broadcasts half of the places")
    func halfOfTheSlots() {
        var lane = lane { $0.inFlight = 8 }
        lane.core.setCredential(1, isReady: false, now: start)
        lane.dispatch(device: 100, credential: 1, now: start)
        for device in 0..<20 as Range<UInt64> { lane.dispatch(.broadcasts, device: device, broadcast: 5, now: start) }
        #expect(lane.sendNames(now: start).count == 4)
    }

    @Test("reading broadcasts stops at half of what may be held, and orders are read on")
    func memory() {
        var lane = lane { $0.inFlight = 8 }
        var count: UInt64 = 0
        while lane.core.isReading(0, .broadcasts), count < 100 {
            lane.dispatch(.broadcasts, device: count, broadcast: 5, now: start)
            count += 1
        }
        #expect(count == 8 && lane.core.isReading(0, .orders))
        for device in 100..<115 as Range<UInt64> { lane.dispatch(device: device, now: start) }
        #expect(lane.core.isReading(0, .orders))
        _ = lane.core.takeRequests(now: start)
        #expect(!lane.core.isReading(0, .broadcasts) && lane.core.isReading(0, .orders))
    }

    @Test("one request a device over both topics; an order overtakes a broadcast that waits, and never one of its own")
    func oneADevice() {
        var lane = lane()
        lane.dispatch(.broadcasts, broadcast: 5, now: start)
        lane.dispatch(.broadcasts, broadcast: 5, now: start)
        let first = lane.core.takeRequests(now: start)
        #expect(first.map(\.record.messageID) == ["b0"])
        lane.dispatch(now: start)
        lane.dispatch(now: start)
        #expect(lane.sendNames(now: start).isEmpty)
        _ = lane.core.answer(first[0].tag, .accepted(providerID: nil), status: 200, now: start)
        let second = lane.core.takeRequests(now: start)
        #expect(second.map(\.record.messageID) == ["m0"])
        // What fails waits in its own retry topic, and only its own kind waits behind it.
        _ = lane.core.answer(second[0].tag, unavailable, status: 503, now: start)
        #expect(lane.sendNames(now: start) == ["b1"])
        let retries = lane.commit(now: start).retries
        #expect(retries.map(\.stream) == [.tier(.orders, 0)] && retries.map(\.record.messageID) == ["m0"])
        #expect(lane.core.status.waiting == 1)
    }

    @Test("a cancelled or replaced broadcast is not sent any more, and ends as cancelled; so does one of no broadcast")
    func cancelled() {
        var lane = lane()
        lane.dispatch(.broadcasts, device: 1, broadcast: 5, now: start)
        lane.dispatch(.broadcasts, device: 2, broadcast: 6, now: start)
        lane.dispatch(.broadcasts, device: 3, broadcast: nil, now: start)
        #expect(lane.sendNames(now: start) == ["b0"])
        let outcomes = lane.commit(now: start).outcomes
        #expect(outcomes.map(\.outcome) == [.cancelled, .cancelled] && outcomes.map(\.offset) == [1, 2])
        #expect(outcomes.allSatisfy { $0.attempts == 0 && $0.reason == nil })
    }

    @Test("a push that waits in a retry topic ends as cancelled when it would be sent, with its last failure")
    func cancelledRetry() throws {
        var lane = lane()
        lane.dispatch(.broadcasts, broadcast: 5, now: start)
        lane.exchange(unavailable, status: 503, now: start)
        let retry = try #require(lane.commit(now: start).retries.first)
        #expect(retry.stream == .tier(.broadcasts, 0))
        let due = start + 10_000
        lane.core.see(view(9, reached: 10), askedAt: due)
        lane.retry(retry, at: 0, now: due)
        #expect(lane.sendNames(now: due).isEmpty)
        let outcome = try #require(lane.commit(now: due).outcomes.first)
        #expect(outcome.outcome == .cancelled && outcome.attempts == 1 && outcome.reason == "UNAVAILABLE")
    }

    @Test("while the view is older than a second, or was never there, broadcasts wait and orders do not")
    func stale() {
        var lane = Lane(hasBroadcasts: true)
        lane.dispatch(.broadcasts, device: 1, broadcast: 5, now: start)
        lane.dispatch(device: 2, now: start)
        #expect(lane.sendNames(now: start) == ["m0"])
        lane.core.see(view(5, reached: 8), askedAt: start)
        lane.dispatch(device: 3, now: start)
        #expect(lane.sendNames(now: start + 1_001) == ["m1"])
        lane.core.see(view(5, reached: 8), askedAt: start + 1)
        #expect(lane.sendNames(now: start + 1_001) == ["b0"])
    }

    @Test("a push that is newer than the view waits for a view of after it was read; what that has not is no broadcast")
    func ahead() {
        var lane = lane()
        lane.dispatch(.broadcasts, device: 1, broadcast: 8, now: start + 100)
        lane.dispatch(.broadcasts, device: 2, broadcast: 9, now: start + 100)
        #expect(lane.sendNames(now: start + 100).isEmpty && lane.core.takeTransaction(now: start + 100) == nil)
        lane.core.see(view(5, 8, reached: 9), askedAt: start + 50)
        #expect(lane.sendNames(now: start + 110) == ["b0"])
        #expect(lane.core.takeTransaction(now: start + 110) == nil)
        lane.core.see(view(5, 8, reached: 9), askedAt: start + 101)
        #expect(lane.sendNames(now: start + 120).isEmpty)
        #expect(lane.commit(now: start + 120).outcomes.map(\.outcome) == [.cancelled])
    }
}
