import KafkaClient
import Pipeline

/// What `topic.broadcasts` holds, in its order.
package struct BroadcastLog {
    package enum Content: Equatable {
        case published(BroadcastNotification)
        /// It cannot be sent.
        case failed(DeadLetter)
    }

    /// What a later record of the key did.
    package enum End: Equatable {
        case replaced
        /// Nil where the record has no time.
        case cancelled(at: WallTime?)
    }

    package struct Entry: Equatable {
        package var offset: Int64
        /// The record's own time.
        package var time: WallTime?
        package var id: String
        package var content: Content
        /// Nil: it is the newest of its key.
        package var end: End?

        package init(offset: Int64, time: WallTime?, id: String, content: Content, end: End? = nil) {
            (self.offset, self.time, self.id, self.content, self.end) = (offset, time, id, content, end)
        }

        package var broadcast: BroadcastNotification? {
            switch content {
            case .published(let broadcast): broadcast
            case .failed: nil
            }
        }
    }

    /// Records with a value, in the order of their offsets. Compaction may have removed some that were replaced.
    package private(set) var entries: [Entry] = []
    /// The newest entry of each key, by its bytes, as Kafka compares them.
    private var newest: [[UInt8]: Int] = [:]
    private var cancelled: Set<[UInt8]> = []

    package init() {}

    /// Takes the next record with a value.
    package mutating func take(_ record: BroadcastRecord, _ content: Content) {
        let id = String(decoding: record.key, as: UTF8.self)
        let key = Array(id.utf8)
        if let index = newest[key], entries[index].end == nil { entries[index].end = .replaced }
        cancelled.remove(key)
        newest[key] = entries.count
        entries.append(Entry(offset: record.offset, time: record.timestamp, id: id, content: content))
    }

    /// Takes the next record, if it has no value.
    ///
    /// - Parameter time: the record's.
    package mutating func cancel(_ id: String, at time: WallTime?) {
        let key = Array(id.utf8)
        if let index = newest[key], entries[index].end == nil { entries[index].end = .cancelled(at: time) }
        cancelled.insert(key)
    }

    /// The newest broadcast with an id, also one that was cancelled; nil if there is none.
    package func newest(_ id: String) -> Entry? { newest[Array(id.utf8)].map { entries[$0] } }

    /// Whether the newest record of an id cancels it.
    package func isCancelled(_ id: String) -> Bool { cancelled.contains(Array(id.utf8)) }

    /// Reads the topic from its beginning to its present end.
    ///
    /// - Parameters:
    ///   - timeout: of each question to the broker.
    ///   - isStopped: asked between two batches; true ends it.
    /// - Throws: `PipelineError` if the topic has several partitions, which has no order; `ReadingStopped`, `KafkaError`.
    package static func read(
        _ configuration: PipelineConfiguration, logger sink: @escaping ClientLog.Sink,
        timeout: Duration = .seconds(30), isStopped: () -> Bool = { false }
    ) throws -> BroadcastLog {
        let topic = configuration.topics.broadcasts
        var settings = configuration.kafka
        settings["auto.offset.reset"] = "error"
        var consumer = try Consumer(assigning: settings, logger: sink)
        let bounds = try consumer.explaining { consumer throws(KafkaError) in
            try consumer.bounds(of: topic, timeout: timeout)
        }
        guard bounds.count == 1 else {
            throw PipelineError.decisionNeeded(
                "\(topic) has \(bounds.count) partitions and must have one: broadcasts are sent in their order; create it "
                    + "again with one")
        }
        var log = BroadcastLog()
        var reader = BroadcastReader(topic: topic, settings: configuration.rendering)
        try TopicReader.read(bounds, of: topic, with: &consumer) { records, indices in
            if isStopped() { throw ReadingStopped() }
            for index in indices { log.take(records.record(at: index), with: &reader) }
        }
        return log
    }

    private mutating func take(_ record: ConsumerRecord, with reader: inout BroadcastReader) {
        let key = record.key ?? []
        guard let value = record.value else {
            return cancel(String(decoding: key, as: UTF8.self), at: record.timestamp)
        }
        let found = BroadcastRecord(
            offset: record.offset.value, timestamp: record.timestamp, key: key, value: value, headers: record.headers)
        take(found, reader.content(found))
    }
}

extension BroadcastReader {
    /// - Parameter record: one that has a value.
    package mutating func content(_ record: BroadcastRecord) -> BroadcastLog.Content {
        switch read(record).content {
        case .published(let broadcast, _): .published(broadcast)
        case .failed(let letter): .failed(letter)
        }
    }
}
