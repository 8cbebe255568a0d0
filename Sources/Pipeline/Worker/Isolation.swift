/// The coordinates of an event: of a record of a source's topic.
package struct EventCoordinates: Hashable, Sendable {
    package var partition: SourcePartition
    package var offset: Int64

    package init(_ partition: SourcePartition, offset: Int64) {
        self.partition = partition
        self.offset = offset
    }
}

/// Finds the event whose records the broker refuses permanently, so that no batch is retried forever (docs/kafka.md
/// 20).
///
/// After two aborts with the same permanent error of one record, the events of the batch run one per transaction. The
/// event that fails alone is dead-lettered; if the dead letter fails too, it is truncated; if that fails, the pipeline
/// stops. Errors of the environment never come here.
package struct Isolation {
    /// How an event that runs alone is written.
    package enum Treatment: Equatable {
        case asItIs
        case deadLetter
        case truncatedDeadLetter

        /// Whether it becomes a dead letter.
        var isDeadLetter: Bool {
            switch self {
            case .asItIs: false
            case .deadLetter, .truncatedDeadLetter: true
            }
        }

        /// Whether only the beginning of its value is kept.
        var isTruncated: Bool {
            switch self {
            case .asItIs, .deadLetter: false
            case .truncatedDeadLetter: true
            }
        }
    }

    package enum Action: Equatable {
        /// Process the batch again.
        case retry
        /// Nothing is left to try with this event.
        case giveUp(EventCoordinates)
    }

    package private(set) var lastError: String?
    private var aborts = 0
    /// By partition: events below this offset run one per transaction.
    private var aloneBelow: [SourcePartition: Int64] = [:]
    private var treatments: [EventCoordinates: Treatment] = [:]
    private var tickRefusals = 0
    /// How many timers, and nothing else, the next transaction with timers may have; nil: as many as fit.
    package private(set) var tickLimit: Int?
    /// A single timer was accepted: the refused one is the next.
    private var hasPassedAlone = false
    /// How a timer that is alone in its transaction is written: ``Treatment/asItIs`` or ``Treatment/deadLetter``.
    package private(set) var tickTreatment = Treatment.asItIs

    /// Whether every event of the next transaction is to run alone.
    package var isActive: Bool { !aloneBelow.isEmpty }

    package func treatment(of event: EventCoordinates) -> Treatment {
        treatments.isEmpty ? .asItIs : treatments[event] ?? .asItIs
    }

    /// A transaction was aborted because the broker, or the client, refused a record permanently.
    ///
    /// - Parameters:
    ///   - error: the error's name.
    ///   - batch: the offset after the last event of the transaction, of each partition.
    ///   - alone: the event of the transaction, where it had just one.
    ///   - wasDeadLetter: whether what was refused is that event's dead letter.
    package mutating func recordRefused(
        error: String, batch: [SourcePartition: Int64], alone: EventCoordinates?, wasDeadLetter: Bool
    ) -> Action {
        if isActive, let alone {
            switch treatment(of: alone) {
            case .asItIs: treatments[alone] = wasDeadLetter ? .truncatedDeadLetter : .deadLetter
            case .deadLetter: treatments[alone] = .truncatedDeadLetter
            case .truncatedDeadLetter: return .giveUp(alone)
            }
            return .retry
        }
        aborts = lastError == error ? aborts + 1 : 1
        lastError = error
        if aborts >= 2 { aloneBelow = batch }
        return .retry
    }

    /// Events below these offsets run one per transaction, whatever the reason.
    package mutating func runAlone(below ends: [SourcePartition: Int64]) {
        aloneBelow.merge(ends) { max($0, $1) }
    }

    /// A transaction with timers was aborted because a record was refused permanently; events committed between two
    /// such aborts do not reset the count. After the second one timers get transactions of their own, with half as many
    /// in each attempt, whether the previous one was refused or not, so that the refused timer is alone after a few.
    ///
    /// - Parameters:
    ///   - timers: how many the transaction had.
    ///   - limit: what ``tickLimit`` was for it.
    /// - Returns: whether nothing is left to try: not even the dead letter of a single timer is accepted.
    package mutating func tickRefused(timers: Int, limit: Int?) -> Bool {
        tickRefusals += 1
        guard let limit else {
            if tickRefusals >= 2 { tickLimit = Self.half(timers) }
            return false
        }
        hasPassedAlone = false
        guard limit == 1 else {
            tickLimit = Self.half(min(limit, timers))
            return false
        }
        defer { tickTreatment = .deadLetter }
        return tickTreatment.isDeadLetter
    }

    /// A transaction with timers in it was committed.
    ///
    /// - Parameter limit: what ``tickLimit`` was for it.
    package mutating func tickCommitted(limit: Int?) {
        if let limit, !tickTreatment.isDeadLetter, !hasPassedAlone {
            // The refused one is among those after it.
            hasPassedAlone = limit == 1
            tickLimit = Self.half(limit)
            return
        }
        hasPassedAlone = false
        tickLimit = nil
        tickRefusals = 0
        tickTreatment = .asItIs
    }

    private static func half(_ timers: Int) -> Int { max(1, (timers + 1) / 2) }

    /// A transaction has been committed up to these offsets.
    package mutating func committed(upTo next: (SourcePartition) -> Int64?) {
        lastError = nil
        aborts = 0
        guard isActive else { return }
        treatments.removeAll()
        aloneBelow = aloneBelow.filter { partition, end in (next(partition) ?? end) < end }
    }

    /// The partitions were taken away: their new owner isolates refused records itself.
    package mutating func reset() {
        self = Isolation()
    }
}
