import CRDKafka
import Glibc

/// A consumer's queues: one for control, and one for the data of each topic that has its own, or one for all.
struct ConsumerQueues: ~Copyable {
    let control: OpaquePointer
    /// In the order of the topics; the first one also gets the records of every topic without one of its own.
    let data: [DataQueue]
    private let topics: [String]
    /// The ends of a pipe to which librdkafka writes a byte when a queue that was empty gets a record; nil with a single
    /// queue, which is waited for directly.
    private let signal: (read: Int32, write: Int32)?
    /// Keeps the client alive until the queues are destroyed.
    private let handle: ClientHandle

    /// - Parameter topics: those that get a queue of their own; empty: one queue for all.
    init(of handle: ClientHandle, topics: [String]) throws(KafkaError) {
        var data: [DataQueue] = []
        for _ in 0..<max(1, topics.count) { data.append(try DataQueue(of: handle)) }
        let signal = data.count > 1 ? try Self.makePipe() : nil
        guard let control = rd_kafka_queue_get_consumer(handle.pointer) else {
            throw .configuration("a consumer needs a group")
        }
        if let signal {
            for queue in data { rd_kafka_queue_io_event_enable(queue.pointer, signal.write, "1", 1) }
        }
        self.handle = handle
        self.control = control
        self.topics = topics
        self.data = data
        self.signal = signal
    }

    private static func makePipe() throws(KafkaError) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .configuration("the system has no file descriptor left for a queue") }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        return (ends[0], ends[1])
    }

    deinit {
        if let signal {
            for queue in data { rd_kafka_queue_io_event_enable(queue.pointer, -1, nil, 0) }
            close(signal.read)
            close(signal.write)
        }
        rd_kafka_queue_destroy(control)
    }

    /// The queue that a topic's records come to.
    func queue(of topic: String) -> DataQueue { data[topics.firstIndex(of: topic) ?? 0] }

    func forgetBrokers() {
        for queue in data { queue.forgetBrokers() }
    }

    /// Waits until one of several queues has something, for at most `timeout`.
    func wait(timeout: Duration) {
        guard let signal else { return }
        // Older signals say nothing: what they were about may have been read. A queue that fills from here on signals.
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { bytes in
            while read(signal.read, bytes.baseAddress, bytes.count) > 0 {}
        }
        if data.contains(where: { $0.count > 0 }) { return }
        var descriptor = pollfd(fd: signal.read, events: Int16(POLLIN), revents: 0)
        _ = poll(&descriptor, 1, timeout.milliseconds)
    }
}
