import KafkaClient

/// What a worker reads and writes, and how: what its tenant does not decide anew.
package struct Contract: Sendable {
    package var group: String
    package var slot: Slot
    /// Whether it stays a member of its group while it restarts (ADR 16).
    package var isStatic: Bool
    /// What it reads, in this order. Of several each has a data queue of its own, whose number is its index here.
    package var inputs: [String]
    /// Whether each member has the same partitions of every input.
    package var isCoPartitioned: Bool
    /// Raised by what wakes the worker beside its records.
    package var signal: QueueSignal?
    package var readsHeaders: Bool
    /// Inputs that are located only once all that was written into them before has been committed or aborted.
    package var settledInputs: Set<String> = []
    package var keeping = Keeping.nothing
    /// What it writes; ``Transaction`` has them by their numbers.
    package var outputs: [String]
    /// Of a client without a group, of the member of the group, and of the producer.
    package var settings: Settings
    package var memberSettings: Settings
    package var transactionSettings: Settings
    package var transactionTimeout: Duration
    /// A transaction is committed after this time; one of a worker that is behind, since what waits has waited from before
    /// it began, after the longer one: the broker's cost is per transaction, and latency matters little in a backlog.
    package var commitInterval: Duration
    package var commitIntervalBehind: Duration
    /// How much is read of an input at once, in records and in bytes.
    package var batchRecords = 1_000
    package var batchBytes = Int.max
    /// See ``Consumer/passes`` and ``Consumer/onPassing``.
    package var passes: [TopicPartition: [ClosedRange<Int64>]] = [:]
    package var onPassing: (@Sendable (RecordPosition?) -> Void)?
    package var clock = Clock.gatesAll
    package var clients: any Clients = KafkaClients()

    /// What waits while the clock does not agree with the broker's (ADR 60).
    package enum Clock: Sendable {
        case gatesAll
        /// What the tenant says: it hears whether the clock is right.
        case gatesSome
        /// Nothing: the broker is not asked.
        case gatesNothing
    }

    /// What counts although a transaction was aborted.
    package enum Keeping: Sendable {
        /// The worker reads again. The tenant writes whenever it works.
        case nothing
        /// All that the tenant knows: nothing is read again. It works without a transaction, also while none succeeds, writes
        /// only in ``Tenant/finish(_:)``, and is made anew where its clock was set.
        case everything
    }

    package init(
        group: String, slot: Slot, isStatic: Bool, inputs: [String], isCoPartitioned: Bool = false,
        signal: QueueSignal? = nil, readsHeaders: Bool = true, outputs: [String], settings: Settings,
        memberSettings: Settings, transactionSettings: Settings, transactionTimeout: Duration, commitInterval: Duration
    ) {
        self.group = group
        self.slot = slot
        self.isStatic = isStatic
        self.inputs = inputs
        self.isCoPartitioned = isCoPartitioned
        self.signal = signal
        self.readsHeaders = readsHeaders
        self.outputs = outputs
        self.settings = settings
        self.memberSettings = memberSettings
        self.transactionSettings = transactionSettings
        self.transactionTimeout = transactionTimeout
        self.commitInterval = commitInterval
        commitIntervalBehind = commitInterval
    }
}
