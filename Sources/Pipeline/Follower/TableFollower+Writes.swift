import KafkaClient
import Streaming

/// Brings the table to what was written before a moment (``TableGate/writes``).
///
/// That a transaction is committed is known, by what it wrote elsewhere, before its marker is in each partition of the
/// subscriptions. Until then the last stable offset is below its records, and the high watermark above them.
extension TableFollower {
    /// What is to be reached.
    struct Writes {
        var barrier: Int
        var askedAt: ContinuousClock.Instant
        /// The high watermarks; nil: the broker did not answer.
        var ends: [Int64]?
    }

    /// Asks for the high watermarks where somebody waits for them. Those that are not reached yet stay the ones to reach,
    /// for a while: of a topic that grows all the time newer ones would never be.
    mutating func askForWrites() throws {
        guard context.gate.writes.isAwaited else { return }
        if let writes {
            let isOver = writes.ends == nil ? Duration.seconds(1) : context.configuration.subscriptionsMaxLag
            guard context.now - writes.askedAt >= isOver else { return }
        }
        var asked = Writes(barrier: context.gate.writes.newest, askedAt: context.now)
        do {
            let found = try highWatermarks()
            asked.ends = partitions.map { found[$0]?.value ?? 0 }
        } catch {
            try unanswered(error, "the subscriptions' high watermarks are not known")
        }
        writes = asked
    }

    /// By a client of its own, since the other one knows last stable offsets. It is made when it is needed, and after an
    /// error again.
    private mutating func highWatermarks() throws -> [TopicPartition: Offset] {
        let settings = context.configuration.kafka.merging(["isolation.level": "read_uncommitted"]) { $1 }
        var client =
            try uncommitted.take()
            ?? context.clients.reader(settings, passes: [:], onPassing: { _ in }, logger.clientSink)
        let found = try client.endOffsets(partitions, timeout: .seconds(2))
        uncommitted = consume client
        return found
    }

    /// What is stored has everything below the high watermarks, where it has.
    mutating func noteWrites() {
        guard let ends = writes?.ends, let barrier = writes?.barrier, hasReached(ends) else { return }
        context.gate.writes.pass(barrier)
        writes = nil
    }
}
