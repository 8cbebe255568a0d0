import CRDKafka

/// The consumer's two queues, and what a full data queue needs to wake up.
///
/// Over `queued.min.messages` or `queued.max.messages.kbytes` librdkafka 2.0.2 does not ask for a partition again until its broker thread next wakes, which takes up to 1 s.
/// Any request to that broker wakes it. Source: kafka-rules, "A full queue sleeps".
struct ConsumerQueues: ~Copyable {
    let control: OpaquePointer
    let data: OpaquePointer
    /// Keeps the client until the queues are gone.
    private let handle: ClientHandle
    private let recordLimit: Int
    private let byteLimit: Int
    /// The data queue was over a limit, and nobody has woken the brokers since.
    private var wasOver = false
    /// A moving average, because librdkafka tells a queue's length and not its bytes.
    private var meanBytes = 0
    private var lastWakeUp: ContinuousClock.Instant?
    /// A partition to ask each broker for; the name is a topic's of the assignment.
    private var wakeUpCalls: [(broker: Int32, partition: TopicPartition)] = []

    init(of handle: ClientHandle) throws(KafkaError) {
        guard let control = rd_kafka_queue_get_consumer(handle.pointer), let data = rd_kafka_queue_new(handle.pointer)
        else { throw .configuration("a consumer needs a group") }
        self.handle = handle
        self.control = control
        self.data = data
        recordLimit = handle.settings["queued.min.messages"].flatMap(Int.init) ?? 100_000
        byteLimit = (handle.settings["queued.max.messages.kbytes"].flatMap(Int.init) ?? 65_536) * 1024
    }

    deinit {
        rd_kafka_queue_destroy(data)
        rd_kafka_queue_destroy(control)
    }

    mutating func forgetBrokers() {
        wakeUpCalls.removeAll(keepingCapacity: true)
        wasOver = false
    }

    /// Remembers that this broker leads this partition; called when the partition of the records read changes.
    mutating func note(_ message: UnsafePointer<rd_kafka_message_t>) {
        let broker = rd_kafka_message_broker_id(message)
        guard broker >= 0 else { return }
        for index in wakeUpCalls.indices where wakeUpCalls[index].broker == broker { return }
        if let partition = message.partition { wakeUpCalls.append((broker, partition)) }
    }

    mutating func noteSize(bytes: Int, records: Int) {
        guard records > 0 else { return }
        let mean = bytes / records
        meanBytes = meanBytes == 0 ? mean : (meanBytes * 3 + mean) / 4
    }

    /// To be called at the start of a read and every few hundred records.
    mutating func wakeUpIfLow() {
        let length = rd_kafka_queue_length(data)
        if length >= recordLimit || length * meanBytes >= byteLimit {
            wasOver = true
            return
        }
        guard wasOver, length * 2 < recordLimit, length * meanBytes * 2 < byteLimit else { return }
        let now = ContinuousClock.now
        if let lastWakeUp, lastWakeUp.duration(to: now) < .milliseconds(10) { return }
        lastWakeUp = now
        wasOver = false
        for (_, partition) in wakeUpCalls {
            var low: Int64 = 0
            var high: Int64 = 0
            // It times out at once; the request goes out nevertheless, and that is its purpose.
            _ = rd_kafka_query_watermark_offsets(handle.pointer, partition.topic, partition.partition, &low, &high, 0)
        }
    }
}
