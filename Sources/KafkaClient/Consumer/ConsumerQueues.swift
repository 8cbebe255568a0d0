import CRDKafka

/// A consumer's queues: one for control, and one for the data of each topic that has its own, or one for all.
struct ConsumerQueues: ~Copyable {
    let control: OpaquePointer
    /// In the order of the topics; the first one also gets the records of every topic without one of its own.
    let data: [DataQueue]
    private let topics: [String]
    /// Nil with a single queue, which is waited for directly, unless its owner gave one.
    private let signal: QueueSignal?
    /// Keeps the client alive until the queues are destroyed.
    private let handle: ClientHandle

    /// - Parameters:
    ///   - topics: those that get a queue of their own; empty: one queue for all.
    ///   - signal: the owner's, which others raise too; nil makes one where there are several queues.
    init(of handle: ClientHandle, topics: [String], signal given: QueueSignal?) throws(KafkaError) {
        var data: [DataQueue] = []
        for _ in 0..<max(1, topics.count) { data.append(try DataQueue(of: handle)) }
        var signal = given
        if data.count > 1, signal == nil { signal = try QueueSignal() }
        guard let control = rd_kafka_queue_get_consumer(handle.pointer) else {
            throw .configuration("a consumer needs a group")
        }
        if let signal {
            for queue in data { rd_kafka_queue_io_event_enable(queue.pointer, signal.writeEnd, "1", 1) }
        }
        self.handle = handle
        self.control = control
        self.topics = topics
        self.data = data
        self.signal = signal
    }

    deinit {
        if signal != nil {
            for queue in data { rd_kafka_queue_io_event_enable(queue.pointer, -1, nil, 0) }
        }
        rd_kafka_queue_destroy(control)
    }

    /// The queue that a topic's records come to.
    func queue(of topic: String) -> DataQueue { data[number(of: topic)] }

    func number(of topic: String) -> Int { topics.firstIndex(of: topic) ?? 0 }

    func forgetBrokers() {
        for queue in data { queue.forgetBrokers() }
    }

    /// Waits until one of several queues has something, for at most `timeout`.
    ///
    /// - Parameter numbers: those whose records are wanted now; nil: all.
    func wait(for numbers: [Int]?, timeout: Duration) {
        guard let signal else { return }
        signal.wait(timeout: timeout) {
            if let numbers { numbers.contains { data[$0].count > 0 } } else { data.contains { $0.count > 0 } }
        }
    }
}
