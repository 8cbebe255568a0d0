import Hosting
import Synchronization
import Telemetry

/// The counts of a registrar. Any thread.
public final class RegistrarMeter: Sendable {
    /// A moment's totals.
    public struct Reading: Sendable, Equatable {
        /// Decided commands, those that change nothing included.
        public var commands = 0
        /// Records of subscriptions that were written, tombstones included.
        public var subscriptions = 0
    }

    let metrics: Metrics
    private let totals = Mutex(Reading())

    package init(metrics: Metrics) {
        self.metrics = metrics
    }

    public var reading: Reading { totals.withLock { $0 } }

    /// A transaction was committed.
    func committed(_ open: OpenDecisions) {
        for (word, count) in open.verdicts {
            self.count("commands", "Commands, by what became of them.", ["verdict": word], count)
        }
        for (kind, count) in [
            ("device", open.devices), ("person", open.people), ("subscription", open.subscriptions.count),
        ] {
            self.count("records", "Records that followed from commands, tombstones included.", ["of": kind], count)
        }
        totals.withLock { totals in
            totals.commands += open.commands
            totals.subscriptions += open.subscriptions.count
        }
    }

    func aborted() { count("aborts", "Transactions of the registrar that were aborted.", [:], 1) }

    func rebuilt() { count("table_rebuilds", "Times that the registrar's table was filled again.", [:], 1) }

    func unreadable(_ records: Int) {
        count("foreign_records", "Records of devices, people and erasures that this version cannot read.", [:], records)
    }

    private func count(_ name: String, _ help: String, _ labels: Metrics.Labels, _ count: Int) {
        guard count > 0 else { return }
        metrics.counter("carillon_registrar_\(name)_total", help: help, labels: labels).add(count)
    }

    /// The series that are read when they are asked for.
    func observe(_ board: RegistrarBoard) {
        metrics.observeLag(of: .registrar) { board.now.lag.map { [("commands", 0, $0)] } ?? [] }
        metrics.observe("carillon_registrar_active", help: "1 where the commands are this process's to decide, else 0.")
        {
            [.init(value: .gauge(board.now.isActive ? 1 : 0))]
        }
    }
}
