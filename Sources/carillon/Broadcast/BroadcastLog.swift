import Broadcasts
import KafkaClient
import Replay

/// What `topic.broadcasts` holds, in its order.
struct BroadcastLog {
    enum Content: Equatable {
        case published(BroadcastNotification)
        /// It cannot be sent.
        case failed(DeadLetter)
    }

    /// What a later record of the key did.
    enum End: Equatable {
        case replaced
        /// Nil where the record has no time.
        case cancelled(at: WallTime?)
    }

    struct Entry: Equatable {
        var offset: Int64
        /// The record's own time.
        var time: WallTime?
        var id: String
        var content: Content
        /// Nil: it is the newest of its key.
        var end: End?

        var broadcast: BroadcastNotification? {
            switch content {
            case .published(let broadcast): broadcast
            case .failed: nil
            }
        }
    }

    /// Records with a value, in the order of their offsets. Compaction may have removed some that were replaced.
    private(set) var entries: [Entry] = []
    /// The newest entry of each key.
    private var newest: [String: Int] = [:]
    private var cancelled: Set<String> = []

    /// Takes the next record with a value.
    mutating func take(_ record: BroadcastRecord, _ content: Content) {
        let id = String(decoding: record.key, as: UTF8.self)
        if let index = newest[id], entries[index].end == nil { entries[index].end = .replaced }
        cancelled.remove(id)
        newest[id] = entries.count
        entries.append(Entry(offset: record.offset, time: record.timestamp, id: id, content: content, end: nil))
    }

    /// Takes the next record, if it has no value.
    ///
    /// - Parameter time: the record's.
    mutating func cancel(_ id: String, at time: WallTime?) {
        if let index = newest[id], entries[index].end == nil { entries[index].end = .cancelled(at: time) }
        cancelled.insert(id)
    }

    /// The newest broadcast with an id, also one that was cancelled; nil if there is none.
    func newest(_ id: String) -> Entry? { newest[id].map { entries[$0] } }

    /// Whether the newest record of an id cancels it.
    func isCancelled(_ id: String) -> Bool { cancelled.contains(id) }

    /// Reads the topic from its beginning to its present end.
    ///
    /// - Throws: if the topic has several partitions, which has no order: exit code 78.
    static func read(_ configuration: PipelineConfiguration) throws -> BroadcastLog {
        let topic = configuration.topics.broadcasts
        var kafka = try KafkaLog(configuration, logger: configuration.clientSink, isStopped: { false })
        let bounds = try kafka.bounds(of: topic)
        guard bounds.count == 1 else {
            throw CommandFailure(
                .configuration,
                "\(topic) has \(bounds.count) partitions and must have one: broadcasts are sent in their order; create it "
                    + "again with one")
        }
        var log = BroadcastLog()
        var reader = BroadcastReader(topic: topic, settings: configuration.rendering)
        try kafka.read(bounds, of: topic) { records, indices in
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
        switch reader.read(found).content {
        case .published(let broadcast, _): take(found, .published(broadcast))
        case .failed(let letter): take(found, .failed(letter))
        }
    }
}
