import KafkaClient

/// How often a worker was fenced without another process taking its slot: its own transaction had timed out, or its own
/// second attempt to join, after the broker had been unreachable, fenced the first one.
package struct Fencings {
    private var times: [ContinuousClock.Instant] = []
    private var contactLost: ContinuousClock.Instant?
    /// The transaction that the latest error was about had outlasted its timeout, for which the broker fences by itself.
    package var isOwnTimeout = false

    package init() {}

    /// The broker could not be reached, or took the partitions away.
    package mutating func noteLostContact(now: ContinuousClock.Instant = .now) {
        contactLost = now
    }

    /// Takes an error of either client: one caused by a missing answer means that contact was lost. The producer's
    /// errors count as well, since a worker in a long call sees its consumer's only afterwards.
    package mutating func consider(_ error: KafkaError, now: ContinuousClock.Instant = .now) {
        if [.allBrokersDown, .transport, .timedOut].contains(error.kind) { noteLostContact(now: now) }
    }

    /// Whether contact was lost within the last minute and has not explained a fencing yet: a static member that joins
    /// again, while the broker still has its first attempt, gets the same fatal error as one whose slot was taken.
    package func mayBeOwnDoing(now: ContinuousClock.Instant = .now) -> Bool {
        contactLost.map { now - $0 < .seconds(60) } ?? false
    }

    /// The consumer was recreated. If it is fenced again without another loss of contact, another process has its slot.
    package mutating func noteNewConsumer() {
        contactLost = nil
    }

    package enum Verdict: Equatable {
        /// Its own transaction had timed out, or may have.
        case newProducer
        /// Another process has its slot, says this error.
        case slotTaken(KafkaError)
        /// No other process has its slot, and it was fenced for the third time in 10 minutes.
        case tooOften
    }

    /// The producer was fenced (docs/code.md §6, "Slots").
    ///
    /// - Parameters:
    ///   - consumer: the fatal error of the consumer, which a static member gets where its slot was taken.
    ///   - isStatic: without static membership the two cannot be distinguished.
    package mutating func judge(
        _ error: KafkaError, consumer: KafkaError?, isStatic: Bool, now: ContinuousClock.Instant = .now
    ) -> Verdict {
        if isStatic, let consumer, consumer.kind == .fencedInstanceID, !mayBeOwnDoing(now: now) {
            return .slotTaken(consumer)
        }
        if isOwnTimeout { return .newProducer }
        guard isTooMany(now: now) else { return .newProducer }
        return isStatic ? .tooOften : .slotTaken(error)
    }

    /// Counts a fencing of the producer, and returns whether it is the third in 10 minutes.
    package mutating func isTooMany(now: ContinuousClock.Instant = .now) -> Bool {
        times = times.filter { now - $0 < .seconds(600) } + [now]
        return times.count >= 3
    }
}
