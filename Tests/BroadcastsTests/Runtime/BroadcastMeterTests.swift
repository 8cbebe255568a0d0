import Hosting
import Pipeline
import TestSupport
import Testing

@testable import Broadcasts

@Suite("What monitoring is told of broadcasts")
struct BroadcastMeterTests {
    private let metrics = Metrics()
    private let board = BroadcastBoard(workers: 2)
    private let start = ContinuousClock.now

    private func value(_ name: String, _ labels: Metrics.Labels = [:]) -> MetricsSnapshot.Value? {
        metrics.snapshot().value("carillon_\(name)", labels: labels)
    }

    @Test("the lag of a partition is one of the role broadcasts, and goes with the partition")
    func lag() {
        BroadcastMeter(metrics: metrics).observe(board, PipelineClock())
        func lag(_ partition: String) -> MetricsSnapshot.Value? {
            value("consumer_lag_records", ["role": "broadcasts", "topic": "subscriptions", "partition": partition])
        }
        board.set(BroadcastBoard.Worker(partitions: 1, lag: [3: 7]), of: 0)
        board.set(BroadcastBoard.Worker(partitions: 1, lag: [4: 0]), of: 1)
        #expect(lag("3") == .gauge(7))
        #expect(lag("4") == .gauge(0))
        board.set(BroadcastBoard.Worker(), of: 0)
        #expect(lag("3") == nil)
    }

    @Test("the age of the oldest broadcast that waits in any worker grows by itself, and is 0 without one")
    func oldestWaiting() {
        let clock = PipelineClock(wall: 1_000_000, began: start - .seconds(90))
        BroadcastMeter(metrics: metrics).observe(board, clock)
        #expect(value("broadcast_oldest_waiting_seconds") == .gauge(0))
        board.set(BroadcastBoard.Worker(oldestWaiting: 1_000_000), of: 0)
        board.set(BroadcastBoard.Worker(oldestWaiting: 1_060_000), of: 1)
        guard case .gauge(let age)? = value("broadcast_oldest_waiting_seconds") else {
            Issue.record("no age")
            return
        }
        #expect(age >= 90 && age < 690)
        // Published by a clock that is ahead.
        board.set(BroadcastBoard.Worker(oldestWaiting: 9_000_000_000), of: 0)
        board.set(BroadcastBoard.Worker(), of: 1)
        #expect(value("broadcast_oldest_waiting_seconds") == .gauge(0))
    }
}
