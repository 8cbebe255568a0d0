import Synchronization
import Telemetry

/// What the process has done so far: fed by the workers after each commit, read by the status line and the metrics.
/// Any thread.
public final class PipelineMeter: Sendable {
    /// A moment's numbers.
    public struct Reading: Sendable {
        /// Of committed transactions only.
        public var counts = Counts()
        public var transactions = 0
        public var aborts = 0
        public var recreatedClients = 0
        /// Committed offsets whose metadata carried no watermark: an operator's reset.
        public var missingWatermarks = 0
        /// Events whose key is not their order id.
        public var keyMismatches = 0
        public var ambiguousDates = 0
        public var unknownStatuses = 0
        /// Entries of ORDER_IDS_LISTED that are no id.
        public var ignoredOrderIDs = 0
        /// Devices that the host's own resolver gave and that cannot be sent to.
        public var rejectedDevices = 0
        public var malformedSubscriptions = 0
        /// Records of orders.events that are not processed yet; nil until the first measurement.
        public var lag: Int?
        /// Records of notifications.subscriptions that the table has not applied yet.
        public var tableLag: Int?
        /// Partitions of orders.events that this process owns.
        public var partitions = 0
    }

    private struct State {
        var reading = Reading()
        var lagByWorker: [Int: Int] = [:]
        var partitionsByWorker: [Int: Int] = [:]

        var complete: Reading {
            var complete = reading
            complete.lag = lagByWorker.isEmpty ? nil : lagByWorker.values.reduce(0, +)
            complete.partitions = partitionsByWorker.values.reduce(0, +)
            return complete
        }
    }

    private let state = Mutex(State())
    private let metrics: PipelineMetrics

    package init(metrics: Metrics) {
        self.metrics = PipelineMetrics(metrics)
    }

    public var reading: Reading { state.withLock { $0.complete } }

    package func update(_ change: (inout Reading) -> Void) {
        state.withLock { state in
            change(&state.reading)
            metrics.publish(state.complete)
        }
    }

    package func setLag(_ lag: Int, worker: Int) {
        state.withLock { $0.lagByWorker[worker] = lag }
    }

    package func setPartitions(_ count: Int, worker: Int) {
        state.withLock { state in
            state.partitionsByWorker[worker] = count
            if count == 0 { state.lagByWorker[worker] = 0 }
        }
    }
}
