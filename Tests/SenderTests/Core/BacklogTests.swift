import Notifications
import Testing

@testable import Sender

@Suite("A device with a backlog")
struct BacklogTests {
    private let accepted = Verdict.accepted(providerID: nil)

    @Test("6,000 pushes of one device: 16 are in memory, and another device's push is read and sent at once")
    func others() {
        var lane = Lane()
        for _ in 0..<6_000 { lane.dispatch() }
        #expect(lane.core.isReading(0) && lane.core.status.held == 16 && lane.core.status.waiting == 5_984)
        lane.dispatch(device: 2)
        #expect(lane.send() == [0, 6_000])
    }

    @Test("what waits in Kafka is read again when it is its turn, in order, and nothing is written but outcomes")
    func inOrder() {
        var lane = Lane()
        for _ in 0..<300 { lane.dispatch() }
        var (sent, ended, offset): ([Int64], [Int64], Int64?) = ([], [], nil)
        while sent.count < 300 {
            let requests = lane.core.takeRequests(now: 0)
            #expect(requests.count == 1)
            guard let request = requests.first else { return }
            sent.append(request.record.source)
            _ = lane.core.answer(request.tag, accepted, status: 200, now: 0)
            lane.readAgain()
            let written = lane.commit()
            #expect(written.retries.isEmpty)
            ended += written.outcomes.map(\.offset)
            offset = written.commits.first?.offset.offset
        }
        #expect(sent == (0..<300).map(Int64.init) && ended == sent && offset == 300)
        #expect(lane.core.isIdle && lane.core.status.waiting == 0)
    }

    @Test("many devices with backlogs: what waits takes half of what may be held, and a new device is read and sent")
    func manyDevices() {
        var lane = Lane { $0.inFlight = 100 }
        for number in 0..<3_000 as Range<UInt64> { lane.dispatch(device: number % 50) }
        #expect(lane.core.isReading(0) && lane.core.status.held == 200)
        lane.dispatch(device: 77)
        #expect(lane.send().last == 3_000)
    }

    @Test("bytes count too: what waits takes half of them, and at the limit nothing more is read")
    func bytes() {
        var lane = Lane { $0.inFlight = 4 }
        func dispatch(_ source: Int64, device: UInt64) {
            var record = Lane.record(.orders, source, device: device)
            record.size = LaneRecord.maxSize
            #expect(lane.core.dispatch(record, now: 0) == true)
        }
        for source in 0..<4 as Range<Int64> { dispatch(source, device: 1) }
        #expect(lane.core.status.held == 2 && lane.core.status.waiting == 2 && lane.core.isReading(0))
        for source in 4..<6 as Range<Int64> { dispatch(source, device: UInt64(source)) }
        #expect(lane.core.status.held == 4 && !lane.core.isReading(0))
        lane.exchange(accepted, status: 200, now: 0)
        #expect(lane.core.isReading(0))
    }

    @Test("what waits behind a push that failed stays where it was read; it is sent once that one has its outcome")
    func behindFailure() throws {
        var lane = Lane()
        for _ in 0..<3 { lane.dispatch() }
        lane.exchange(unavailable, status: 503, now: 0)
        lane.dispatch()
        #expect(lane.core.status.held == 0 && lane.readAgain().isEmpty && lane.send().isEmpty)
        let written = lane.commit()
        #expect(written.retries.map(\.record.source) == [0] && written.commits.first?.offset.offset == 1)
        lane.retry(try #require(written.retries.first), at: 0, now: 10_000)
        #expect(lane.send(now: 10_000) == [0] && lane.readAgain() == [1, 2, 3])
    }

    @Test("a retry that is due before an older one of its device waits in its topic, and is not written again")
    func retryBehindRetry() {
        var lane = Lane(isActive: false)
        for offset in 0..<2 as Range<Int64> {
            lane.core.recall(offset, of: 0, .tier(.orders, 0), at: offset, device: 1)
        }
        _ = lane.commit()
        let retry = {
            LaneTransaction.Retry(
                tier: 0, record: Lane.record(.orders, $0), note: RetryNote(offset: $0, attempts: 1, used: 0))
        }
        lane.retry(retry(1), at: 0, now: 20_000)
        #expect(lane.send(now: 20_000).isEmpty && lane.readAgain().isEmpty && lane.commit().retries.isEmpty)
        lane.retry(retry(0), at: 1, now: 20_000)
        lane.exchange(accepted, status: 200, now: 20_000)
        #expect(lane.readAgain(now: 20_000) == [1] && lane.send(now: 20_000) == [1])
    }

    @Test("a full window moves: what waits in its first quarter goes to the first retry topic, what is in flight stays")
    func fullWindow() throws {
        var lane = Lane { $0.window = 64 }
        for _ in 0..<64 { lane.dispatch() }
        let request = try #require(lane.core.takeRequests(now: 0).first)
        #expect(lane.core.dispatch(Lane.record(.orders, 64, device: 2), now: 0) == false)
        #expect(lane.readAgain() == (0..<16).map(Int64.init))
        let written = lane.commit()
        #expect(written.retries.map(\.record.source) == (1..<16).map(Int64.init))
        #expect(written.retries.allSatisfy { $0.tier == 0 && $0.note.attempts == 0 })
        #expect(lane.core.dispatch(Lane.record(.orders, 64, device: 2), now: 0) == false && lane.readAgain().isEmpty)
        _ = lane.core.answer(request.tag, accepted, status: 200, now: 0)
        #expect(lane.core.dispatch(Lane.record(.orders, 64, device: 2), now: 0) == true && lane.send() == [64])
    }

    @Test("what has become its device's first meanwhile is sent, and does not go on")
    func firstOfFullWindow() {
        var lane = Lane {
            $0.window = 64
            $0.inFlight = 1
        }
        for _ in 0..<64 { lane.dispatch() }
        #expect(lane.core.dispatch(Lane.record(.orders, 64, device: 2), now: 0) == false)
        // The two that are in memory.
        for _ in 0..<2 { lane.exchange(accepted, status: 200, now: 0) }
        #expect(lane.commit().outcomes.count == 2)
        lane.readAgain()
        #expect(lane.send() == [2] && lane.commit().retries.map(\.record.source) == (3..<16).map(Int64.init))
    }

    @Test("what cannot be sent does not hold a full window either: its credential has no token")
    func fullWindowOfABlockedCredential() {
        var lane = Lane { $0.window = 64 }
        lane.core.setCredential(0, isReady: false, now: 0)
        for device in 0..<64 as Range<UInt64> { lane.dispatch(device: device) }
        #expect(lane.send().isEmpty)
        let other = Lane.record(.orders, 64, device: 99, credential: 1)
        #expect(lane.core.dispatch(other, now: 0) == false)
        lane.readAgain()
        #expect(lane.core.dispatch(other, now: 0) == true && lane.send() == [64])
        lane.core.setCredential(0, isReady: true, now: 0)
        #expect(lane.send() == (16..<64).map(Int64.init))
        #expect(lane.commit().retries.map(\.record.source) == (0..<16).map(Int64.init))
    }

    @Test("a full window of the last retry topic goes round: what it waits for may be at its end")
    func fullRetryTopic() {
        var lane = Lane(isActive: false) { settings in
            settings.window = 64
            settings.tiers = [10_000]
        }
        for offset in 0...64 as ClosedRange<Int64> {
            lane.core.recall(offset, of: 0, .tier(.orders, 0), at: offset, device: 1)
        }
        _ = lane.commit()
        let retry = {
            LaneTransaction.Retry(
                tier: 0, record: Lane.record(.orders, $0), note: RetryNote(offset: $0, attempts: 0, used: 0))
        }
        for offset in 0..<64 as Range<Int64> { lane.retry(retry(offset + 1), at: offset, now: 20_000) }
        let first = retry(0)
        #expect(
            lane.core.retry(first.record, first.note, tier: 0, at: 64, appendedAt: 0, now: 20_000) == false)
        lane.readAgain(now: 20_000)
        #expect(lane.commit().retries.map(\.record.source) == (1...16).map(Int64.init))
        lane.retry(first, at: 64, now: 20_000)
        #expect(lane.send(now: 20_000) == [0])
    }

    @Test("the time before the first request does not count when a push is given up")
    func notTried() {
        var lane = Lane()
        let waited = LaneTransaction.Retry(
            tier: 2, record: Lane.record(.orders, 0), note: RetryNote(offset: 0, attempts: 0, used: 0))
        lane.core.recall(0, of: 0, .tier(.orders, 2), at: 0, device: 1)
        let appendedAt: WallTime = 0
        #expect(
            lane.core.retry(waited.record, waited.note, tier: 2, at: 0, appendedAt: appendedAt, now: 7_200_000) == true)
        #expect(lane.send(now: 7_200_000) == [0])
    }
}
