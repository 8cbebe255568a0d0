import KafkaClient
import Streaming

extension Worker {
    /// How many records are extracted and resolved at once; a transaction holds several such batches.
    private static var batchLimit: Int { 512 }
    /// And how many bytes: a batch's records stay in memory until it is done.
    private static var batchBytes: Int { 8 << 20 }

    /// Reads as many records as there are, up to a batch, and waits for the first one no longer than the transaction may.
    mutating func read() throws {
        intake.removeAll()
        let patience =
            ticks.isUnderWay
            ? .zero
            : transaction.open.map { $0.remaining(of: context.configuration.commitInterval) } ?? IdleWait.woken
        noteGrowth()
        growth.waits(at: ProcessMemory.anonymous())
        let queue = nextQueue(patience: patience)
        intake.source = context.sources[queue]
        consumer.fill(
            &intake.records, from: queue, limit: Self.batchLimit, maxBytes: Self.batchBytes,
            timeout: context.sources.count == 1 ? patience : .zero)
        growth.ended(at: ProcessMemory.anonymous(), received: intake.records.byteCount)
        readSinceHolds += intake.records.byteCount
        context.meter.passed(intake.records.unreadable)
        try considerErrors(intake.records.errors)
        try watchConsumer()
        intake.sort(&assignment)
    }

    /// The queue to read next: sources take turns while several of them have records, so that at most half of a
    /// transaction is of one source while another one waits. Waits for the first record of any.
    private func nextQueue(patience: Duration) -> Int {
        let count = context.sources.count
        guard count > 1 else { return 0 }
        let last = context.sources.firstIndex(of: intake.source) ?? 0
        let queues = (1...count).map { (last + $0) % count }.filter { mayRead(context.sources[$0]) }
        consumer.waitForRecords(in: queues, timeout: patience)
        return queues.first { consumer.waitingRecords(in: $0) > 0 } ?? queues.last ?? 0
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
            noteProgress(of: intake.source)
        }
        for source in context.sources where mayRead(source) && health.watches[source]?.isCheckDue() == true {
            try checkConsumer(of: source)
        }
    }

    private mutating func checkConsumer(of source: SourceKind) throws {
        let positions = assignment.positions[source]
        let owned = positions.owned.of(context.configuration.topics.topic(of: source))
        guard let ends = try? consumer.endOffsets(owned, timeout: .seconds(2)) else { return noteProgress(of: source) }
        let isStuck = health.watches[source]?.isStuck(ends: ends.mapValues(\.value)) {
            positions[$0.partition]?.reached ?? .max
        }
        showHopelessness()
        if isStuck == true { throw KafkaError.stuckConsumer }
    }

    private mutating func noteProgress(of source: SourceKind) {
        let wasHopeless = health.isHopeless
        health.watches[source, default: ConsumerWatch()].progressed(hasRecords: !intake.records.isEmpty)
        if wasHopeless { showHopelessness() }
    }

    private func showHopelessness() {
        context.host.health.consumerIsHopeless(health.isHopeless, of: slot.label)
    }
}
