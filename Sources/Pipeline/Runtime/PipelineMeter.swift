import KafkaClient
import Synchronization

/// The counts and measurements of the process: fed by the workers after each commit, read by the status line and, named
/// by Prometheus's conventions, by monitoring. Any thread.
public final class PipelineMeter: Sendable {
    /// A moment's numbers.
    public struct Reading: Sendable {
        /// Of committed transactions only.
        public var counts = Counts()
        /// Records of events and requests that are not processed yet, in the partitions that this process owns; nil until the
        /// first measurement. It is measured every `statistics.interval.ms`.
        public var lag: Int?
        /// Records of notifications.subscriptions that the table has not applied yet.
        public var tableLag: Int?
        /// Partitions of events and requests that this process owns.
        public var partitions = 0
    }

    private struct State {
        var counts = Counts()
        var tableLag: Int?
        var hungSubscriptions = 0
        var unreadableSubscriptions: [Int32] = []
        var workers: [Int: WorkerState] = [:]

        func sum(_ value: (WorkerState) -> Int) -> Int { workers.values.reduce(0) { $0 + value($1) } }
    }

    /// What a worker has measured of the partitions that it owns now.
    private struct WorkerState {
        var partitions = 0
        var lag: [SourcePartition: Int] = [:]
        var hungTransactions: [SourceKind: Int] = [:]
        /// The partitions with something left: since when, and the time of the newest record that was processed. What waits
        /// is not read, and so its own time not known: it is at most as old as both say.
        var waiting: [SourcePartition: (since: WallTime, newest: WallTime)] = [:]
        var leftToFold = 0
        var orders = 0
        var orderBytes = 0
        var fullest = 0.0
        var requests = 0
        var clockAhead: Int64 = 0
        /// As they were committed when the partitions were assigned.
        var watermarks: [Int32: OffsetMetadata] = [:]
        var clock = PipelineClock()

        /// The age of the oldest record that waits, in milliseconds; 0 without one.
        var oldestWaiting: Int64 {
            let now = clock.now()
            return waiting.values.map { max(0, now - max($0.since, $0.newest)) }.max() ?? 0
        }

        /// How far each watermark is ahead now, in milliseconds. A tick never brings one ahead of the clock.
        var leads: [Int32: Int64] {
            let now = clock.now()
            return watermarks.mapValues { max(0, StartRules.lead(of: $0, now: now)) }
        }
    }

    private let state = Mutex(State())
    /// In the order of ``Counts/table``.
    private let counters: [Counter]
    /// By the position of the template.
    private let missingAudiences: [Counter]
    private let transactionDuration: Histogram
    private let appendToCommit: Histogram
    let metrics: Metrics

    /// - Parameter audiences: the templates of audiences, where they are not the default.
    package init(metrics: Metrics, audiences: [String] = []) {
        self.metrics = metrics
        missingAudiences = audiences.map {
            metrics.counter(
                "carillon_missing_audiences_total",
                help: "Audiences that were left out because an order does not have their id, by template.",
                labels: ["audience": $0])
        }
        counters = Counts.table.map { metrics.counter($0.name, help: $0.help, labels: $0.labels) }
        transactionDuration = metrics.histogram(
            "carillon_transaction_duration_seconds",
            help: "From the beginning of a transaction to the end of its commit; one value per transaction.",
            bounds: Histogram.durationBounds)
        appendToCommit = metrics.histogram(
            "carillon_append_to_commit_seconds",
            help:
                "From an event's record timestamp to the end of the commit of its output; one value per event, "
                + "which counts with the age of the oldest event of the batch of at most 512 that it was read in.",
            bounds: [0.01, 0.02, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30, 60, 300, 3_600])
        observe(in: metrics)
    }

    public var reading: Reading {
        state.withLock { state in
            let isLagKnown = state.workers.values.contains { !$0.lag.isEmpty }
            return Reading(
                counts: state.counts, lag: isLagKnown ? state.sum { $0.lag.values.reduce(0, +) } : nil,
                tableLag: state.tableLag, partitions: state.sum { $0.partitions })
        }
    }

    package func add(_ counts: Counts) {
        state.withLock { $0.counts.add(counts) }
        for (row, counter) in zip(Counts.table, counters) { counter.add(counts[keyPath: row.value]) }
        for (position, counter) in missingAudiences.enumerated() { counter.add(counts.missingAudiences[position]) }
    }

    /// Counts what happens rarely.
    package func count(_ change: (inout Counts) -> Void) {
        var counts = Counts()
        change(&counts)
        add(counts)
    }

    /// Batches that could not be read and were passed.
    package func passed(_ batches: [UnreadableBatch]) { metrics.countUnreadable(batches) }

    /// A transaction was committed.
    ///
    /// - Parameters:
    ///   - duration: since its begin.
    ///   - ages: the events of each batch in it, and the age of the oldest of them in milliseconds.
    package func committed(duration: Duration, ages: [(milliseconds: Int64, events: Int)]) {
        transactionDuration.record(duration)
        // A producer's clock may be ahead: the age is never negative.
        for age in ages { appendToCommit.record(.milliseconds(max(0, age.milliseconds)), times: age.events) }
    }

    /// Nil while the lag is unknown.
    package func setTableLag(_ records: Int?) { state.withLock { $0.tableLag = records } }

    /// The partitions of the subscriptions in which the table may lack a change.
    func setUnreadableSubscriptions(_ partitions: [Int32]) {
        state.withLock { $0.unreadableSubscriptions = partitions }
    }

    /// How many partitions of the subscriptions an open transaction blocks.
    package func setHungSubscriptions(_ partitions: Int) { state.withLock { $0.hungSubscriptions = partitions } }

    /// The lag of a worker's partitions by its latest statistics.
    package func setLag(_ lag: [SourcePartition: Int], hungTransactions: [SourceKind: Int], worker: Int) {
        state.withLock { state in
            state.workers[worker, default: WorkerState()].lag = lag
            state.workers[worker, default: WorkerState()].hungTransactions = hungTransactions
        }
    }

    /// Of each partition with a lag the time of the newest record that was processed.
    func setWaiting(_ newest: [SourcePartition: WallTime], clock: PipelineClock, worker: Int) {
        let now = clock.now()
        state.withLock { state in
            let before = state.workers[worker]?.waiting ?? [:]
            state.workers[worker, default: WorkerState()].clock = clock
            state.workers[worker]?.waiting = Dictionary(
                uniqueKeysWithValues: newest.map { ($0, (before[$0]?.since ?? now, $1)) })
        }
    }

    /// A worker's assignment; nothing is known of its lag yet.
    package func setPartitions(_ count: Int, worker: Int) {
        state.withLock { $0.workers[worker] = WorkerState(partitions: count) }
    }

    /// How many offsets a worker has still to fold into the states of its partitions.
    package func setRefold(_ left: Int, worker: Int) {
        state.withLock { $0.workers[worker, default: WorkerState()].leftToFold = left }
    }

    /// By how many seconds the clock is ahead of the broker's, where timers wait for it; else 0.
    package func setClockAhead(_ seconds: Int64, worker: Int) {
        state.withLock { $0.workers[worker, default: WorkerState()].clockAhead = seconds }
    }

    /// The committed metadata of a worker's partitions, and the clock of their timers.
    func setWatermarks(_ committed: [Int32: OffsetMetadata], clock: PipelineClock, worker: Int) {
        state.withLock { state in
            state.workers[worker, default: WorkerState()].watermarks = committed
            state.workers[worker, default: WorkerState()].clock = clock
        }
    }

    /// How many orders a worker remembers, the memory that they take, and how much of the limit they count as in the fullest
    /// partition.
    package func setOrders(_ count: Int, bytes: Int, fullest: Double, worker: Int) {
        state.withLock { state in
            state.workers[worker, default: WorkerState()].orders = count
            state.workers[worker, default: WorkerState()].orderBytes = bytes
            state.workers[worker, default: WorkerState()].fullest = fullest
        }
    }

    /// How many ids of requests a worker remembers.
    func setRequests(_ count: Int, worker: Int) {
        state.withLock { $0.workers[worker, default: WorkerState()].requests = count }
    }

    /// Gauges are read when they are scraped, so that a partition that was revoked leaves no lag behind.
    private func observe(in metrics: Metrics) {
        func observe(_ name: String, _ help: String, _ read: @escaping @Sendable (State) -> [MetricsSnapshot.Series]) {
            metrics.observe(name, help: help) { [weak self] in
                (self?.state.withLock { $0 }).map(read) ?? []
            }
        }
        metrics.observeLag(of: .pipeline) { [weak self] in
            let lag = self?.state.withLock { $0.workers.values.flatMap(\.lag) } ?? []
            return lag.sorted { $0.key < $1.key }.map { ($0.source.label, $0.number, $1) }
        }
        observe(
            "carillon_oldest_waiting_seconds",
            "Age of the oldest record of the owned partitions that is not processed, at most; 0 without one."
        ) {
            [.init(value: .gauge(Double($0.workers.values.map(\.oldestWaiting).max() ?? 0) / 1_000))]
        }
        observe("carillon_assigned_partitions", "Partitions of events and requests owned here.") {
            [.init(value: .gauge(Double($0.sum(\.partitions))))]
        }
        observe(
            "carillon_hung_transactions", "Partitions that a transaction open upstream for a minute or more blocks."
        ) { state in
            SourceKind.allCases.map { source in
                let hung = state.sum { $0.hungTransactions[source] ?? 0 }
                return .init(labels: [.init("topic", source.label)], value: .gauge(Double(hung)))
            } + [.init(labels: [.init("topic", "subscriptions")], value: .gauge(Double(state.hungSubscriptions)))]
        }
        observe(
            "carillon_watermark_ahead_seconds",
            "How far the timer watermark of an owned partition is ahead of the clock and of every record; timers due "
                + "before it are not sent."
        ) {
            $0.workers.values.flatMap(\.leads).sorted { $0.key < $1.key }.map { partition, lead in
                .init(labels: [.init("partition", "\(partition)")], value: .gauge(Double(lead) / 1_000))
            }
        }
        observe("carillon_refold_records", "Offsets still to be folded into the state of orders and requests.") {
            [.init(value: .gauge(Double($0.sum(\.leftToFold))))]
        }
        observe(
            "carillon_clock_ahead_seconds", "By how much the clock is ahead of the broker's, where timers wait for it."
        ) {
            [.init(value: .gauge(Double($0.workers.values.map(\.clockAhead).max() ?? 0)))]
        }
        observe("carillon_orders", "Orders whose state is remembered here.") {
            [.init(value: .gauge(Double($0.sum(\.orders))))]
        }
        observe("carillon_orders_bytes", "Memory of the state of orders.") {
            [.init(value: .gauge(Double($0.sum(\.orderBytes))))]
        }
        observe(
            "carillon_orders_fullest_ratio", "How much of state.max-bytes the orders of the fullest partition count as."
        ) {
            [.init(value: .gauge($0.workers.values.map(\.fullest).max() ?? 0))]
        }
        observe("carillon_request_ids", "Ids of requests that are remembered here, so that a repeated one is not sent.")
        {
            [.init(value: .gauge(Double($0.sum(\.requests))))]
        }
        observe(
            "carillon_table_unreadable",
            "1 for a partition in which a batch could not be read since the table was last read from the beginning."
        ) {
            $0.unreadableSubscriptions.map { .init(labels: [.init("partition", "\($0)")], value: .gauge(1)) }
        }
        observe("carillon_table_lag_records", "Subscriptions that the table has not applied yet.") {
            $0.tableLag.map { [.init(value: .gauge(Double($0)))] } ?? []
        }
    }
}
