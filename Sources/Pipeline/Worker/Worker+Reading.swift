import Events
import KafkaClient

extension Worker {
    /// How many records are extracted and resolved at once; a transaction holds several such batches.
    private static var batchLimit: Int { 512 }
    /// And how many bytes: a batch's records stay in memory until it is done.
    private static var batchBytes: Int { 8 << 20 }

    /// Reads as many records as there are, up to a batch, and waits for the first one no longer than the transaction may.
    mutating func read() throws {
        intake.records.removeAll()
        let patience =
            ticks.isUnderWay
            ? .zero
            : transaction.open.map { $0.remaining(of: context.configuration.commitInterval) } ?? .milliseconds(50)
        consumer.fill(&intake.records, limit: Self.batchLimit, maxBytes: Self.batchBytes, timeout: patience)
        try considerErrors(intake.records.errors)
        try watchConsumer()
        intake.sort(&assignment)
    }

    /// Checks a consumer that has been quiet for a long time.
    private mutating func watchConsumer() throws {
        let topics = context.configuration.topics
        for end in intake.records.endsOfPartition {
            guard let partition = topics.sourcePartition(of: end.partition) else { continue }
            assignment.positions[partition.source].reach(partition: partition.number, offset: end.offset.value)
        }
        if !intake.records.isEmpty || !intake.records.endsOfPartition.isEmpty {
            health.refusal = nil
            return noteProgress()
        }
        guard health.watch.isCheckDue() else { return }
        let positions = assignment.positions
        let owned = positions.owned.map(topics.topicPartition)
        guard let ends = try? consumer.endOffsets(owned, timeout: .seconds(2)) else { return noteProgress() }
        let isStuck = health.watch.isStuck(ends: ends.mapValues(\.value)) {
            topics.sourcePartition(of: $0).flatMap { positions[$0]?.reached } ?? .max
        }
        context.board.consumerIsHopeless(health.watch.isHopeless, of: "worker \(slot.number)")
        if isStuck { throw KafkaError.stuckConsumer }
    }

    private mutating func noteProgress() {
        let wasHopeless = health.watch.isHopeless
        health.watch.progressed(hasRecords: !intake.records.isEmpty)
        if wasHopeless { context.board.consumerIsHopeless(health.watch.isHopeless, of: "worker \(slot.number)") }
    }
}
