import Hosting
import Synchronization
import Telemetry

/// The counts of the broadcasts that a process sends. Any thread.
public final class BroadcastMeter: Sendable {
    /// A moment's totals.
    public struct Reading: Sendable, Equatable {
        /// Pushes to devices that were there when a broadcast began, and to devices that joined later.
        public var reached = 0
        public var late = 0
        public var passes = 0
        public var deadLetters = 0
    }

    let metrics: Metrics
    private let totals = Mutex(Reading())

    package init(metrics: Metrics) {
        self.metrics = metrics
    }

    public var reading: Reading { totals.withLock { $0 } }

    /// A transaction was committed.
    func committed(_ open: OpenBroadcasts) {
        let reached = open.passes.reduce(0) { $0 + $1.sent }
        let late = open.late.reduce(0) { $0 + $1.sent }
        let ended = open.passes.compactMap(\.end)
        count("pushes", "Pushes of broadcasts, by who got them.", ["devices": "reached"], reached)
        count("pushes", "Pushes of broadcasts, by who got them.", ["devices": "late"], late)
        for end in BroadcastJournalEntry.Slice.End.allCases {
            count(
                "passes", "Passes of a broadcast over a partition that have ended.", ["end": end.rawValue],
                ended.count { $0 == end })
        }
        for reason in BroadcastJournalEntry.Skipped.Reason.allCases {
            count(
                "skipped", "Broadcasts that a partition has passed without sending.", ["reason": reason.rawValue],
                open.skipped.count { $0.reason == reason })
        }
        count(
            "stale_devices", "Devices that were last seen too long ago.", [:], open.passes.reduce(0) { $0 + $1.stale })
        count("malformed_subscriptions", "Records that are no subscriptions.", [:], open.malformed)
        totals.withLock { totals in
            totals.reached += reached
            totals.late += late
            totals.passes += ended.count
            totals.deadLetters += open.deadLetters
        }
    }

    func aborted() { count("aborts", "Transactions of broadcasts that were aborted.", [:], 1) }

    func firstStart() { count("first_starts", "Partitions that began without a usable commit.", [:], 1) }

    func rebuilt() { count("table_rebuilds", "Tables of a partition's channels that were filled again.", [:], 1) }

    private func count(_ name: String, _ help: String, _ labels: Metrics.Labels, _ count: Int) {
        guard count > 0 else { return }
        metrics.counter("carillon_broadcast_\(name)_total", help: help, labels: labels).add(count)
    }

    /// The series that are read when they are asked for.
    func observe(_ board: BroadcastBoard, _ clock: PipelineClock) {
        metrics.observeLag(of: .broadcasts) {
            board.all.flatMap(\.lag).sorted { $0.key < $1.key }.map { ("subscriptions", $0, $1) }
        }
        metrics.observe(
            "carillon_broadcast_oldest_waiting_seconds",
            help: "Age of the oldest broadcast that is not done in every partition of this process; 0 without one."
        ) {
            let oldest = board.all.compactMap(\.oldestWaiting).min()
            let age = oldest.map { max(0, clock.now() - $0) } ?? 0
            return [.init(value: .gauge(Double(age) / 1_000))]
        }
        metrics.observe("carillon_broadcast_partitions", help: "Partitions of the subscriptions that this process has.")
        {
            [.init(value: .gauge(Double(board.total.partitions)))]
        }
        metrics.observe("carillon_broadcast_passes_under_way", help: "Passes of broadcasts that are under way.") {
            [.init(value: .gauge(Double(board.total.passes)))]
        }
    }
}
