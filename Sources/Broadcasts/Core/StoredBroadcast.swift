import Pipeline

/// A record of `topic.broadcasts` and what it says. Its bytes stay where they are as long as it lives.
final class StoredBroadcast {
    enum Content {
        case published(BroadcastNotification, audience: ChannelHash)
        /// It cannot be sent.
        case failed(DeadLetter)
    }

    let offset: Int64
    let record: EventRecord
    let headers: [EventHeader]
    let content: Content
    private let memory: UnsafeMutableRawPointer

    /// - Parameter judge: what the record is; takes its bytes as they are stored here.
    init(
        _ record: BroadcastRecord, _ judge: (EventRecord, [EventHeader]) -> Content
    ) {
        let parts =
            [record.key, record.value] + record.headers.flatMap { [Array($0.name.utf8), $0.value ?? []] }
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: max(1, parts.reduce(0) { $0 + $1.count }), alignment: 8)
        var next = memory
        let views = parts.map { part in
            let start = next
            part.withUnsafeBytes { bytes in
                if let source = bytes.baseAddress { start.copyMemory(from: source, byteCount: bytes.count) }
            }
            next += part.count
            return UnsafeRawBufferPointer(start: start, count: part.count)
        }
        let headers = record.headers.indices.map { index in
            EventHeader(
                name: views[2 + 2 * index], value: record.headers[index].value == nil ? nil : views[3 + 2 * index])
        }
        let isRead = record.unreadable == nil
        let event = EventRecord(
            partition: 0, offset: record.offset, timestamp: record.timestamp, key: isRead ? views[0] : nil,
            value: isRead ? views[1] : nil, headers: 0..<headers.count)
        self.memory = memory
        offset = record.offset
        self.record = event
        self.headers = headers
        content = judge(event, headers)
    }

    deinit {
        memory.deallocate()
    }
}
