import KafkaClient

/// One input of a worker: what was read of it last. One owner.
final class InputQueue {
    let topic: String
    var batch: RecordBatch
    /// The first record of the batch that was not taken.
    var next = 0
    var watch: ConsumerWatch

    init(_ topic: String, readsHeaders: Bool, now: ContinuousClock.Instant) {
        self.topic = topic
        watch = ConsumerWatch(now: now)
        batch = RecordBatch(readsHeaders: readsHeaders)
    }

    var isTaken: Bool { next == batch.count }

    func removeAll() {
        batch.removeAll()
        next = 0
    }
}
