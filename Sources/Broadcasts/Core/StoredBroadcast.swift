import Pipeline

/// A record of `topic.broadcasts` and what it says. Its bytes stay where they are as long as it lives.
package final class StoredBroadcast {
    package enum Content {
        case published(BroadcastNotification, audience: ChannelHash)
        /// It cannot be sent.
        case failed(DeadLetter)
    }

    let offset: Int64
    let record: EventRecord
    let headers: [EventHeader]
    package let content: Content
    private let copies: ByteCopies

    /// - Parameter judge: what the record is; takes its bytes as they are stored here.
    init(
        _ record: BroadcastRecord, _ judge: (EventRecord, [EventHeader]) -> Content
    ) {
        let copies = ByteCopies()
        let headers = record.headers.map { header in
            EventHeader(name: copies.copy(header.name.utf8), value: header.value.map { copies.copy($0) })
        }
        let isRead = record.unreadable == nil
        let event = EventRecord(
            partition: 0, offset: record.offset, timestamp: record.timestamp,
            key: isRead ? copies.copy(record.key) : nil,
            value: isRead ? copies.copy(record.value) : nil, headers: headers.indices)
        self.copies = copies
        offset = record.offset
        self.record = event
        self.headers = headers
        content = judge(event, headers)
    }
}
