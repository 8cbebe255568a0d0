/// A record of the dispatch topic, one device's push: what the renderer writes, and what every reader of the topic
/// reads.
///
/// A view: its bytes belong to whoever made it. Reading allocates nothing, unless ``text(_:)`` makes a string or an
/// error is thrown. If a header occurs twice, the first one counts.
package struct DispatchRecord {
    /// The SHA-256 of the device's token as 64 hex digits.
    package let key: UnsafeRawBufferPointer
    /// The provider's message (docs/rules.md §7).
    package let value: UnsafeRawBufferPointer
    package let headers: UnsafeBufferPointer<EventHeader>

    package init(
        key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, headers: UnsafeBufferPointer<EventHeader>
    ) {
        self.key = key
        self.value = value
        self.headers = headers
    }

    /// A header's value as bytes; nil if the header is missing or null.
    package subscript(header: DispatchHeader) -> UnsafeRawBufferPointer? {
        for candidate in headers where header.matches(candidate.name) { return candidate.value }
        return nil
    }

    /// A header's value as a new string.
    package func text(_ header: DispatchHeader) -> String? {
        self[header].map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: In every record

    package var messageID: UnsafeRawBufferPointer {
        get throws(DispatchRecordError) { try DispatchHeader.messageID(self[.messageID]) }
    }

    package var platform: Platform {
        get throws(DispatchRecordError) { try DispatchHeader.platform(self[.platform]) }
    }

    package var source: Source {
        get throws(DispatchRecordError) { try DispatchHeader.source.required(self[.source]) { Source($0) } }
    }

    /// When the notification is no longer worth delivering.
    package var expiresAt: WallTime {
        get throws(DispatchRecordError) { try DispatchHeader.expiresAt(self[.expiresAt]) }
    }

    // MARK: Optional

    /// The audience by which the device was found; nil in a record of a version that did not always write it.
    package var audience: UnsafeRawBufferPointer? { self[.audience] }

    /// The id of the replay or re-drive that wrote the record; nil if the pipeline did. Only the last header counts as
    /// this one.
    package var replayID: UnsafeRawBufferPointer? {
        guard let last = headers.last, DispatchHeader.replay.matches(last.name), let id = last.value, !id.isEmpty else {
            return nil
        }
        return id
    }

    /// The record as the pipeline writes it, without the header of a replay.
    package var original: DispatchRecord {
        guard replayID != nil else { return self }
        return DispatchRecord(
            key: key, value: value, headers: UnsafeBufferPointer(rebasing: headers.dropLast()))
    }
}
