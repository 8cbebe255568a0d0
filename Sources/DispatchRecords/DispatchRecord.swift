import Events
import NotificationPayload
import Subscriptions

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
        get throws(DispatchRecordError) { try required(.messageID) { $0.isEmpty ? nil : $0 } }
    }

    package var platform: Platform {
        get throws(DispatchRecordError) {
            try required(.platform) { text in Platform.allCases.first { sameBytes(text, $0.headerValue) } }
        }
    }

    package var source: Source {
        get throws(DispatchRecordError) { try required(.source) { Source($0) } }
    }

    /// When the notification is no longer worth delivering.
    package var expiresAt: EventTime {
        get throws(DispatchRecordError) {
            try required(.expiresAt) { text in
                let isNegative = text.first == UInt8(ascii: "-")
                let count = Int64(digits: text.dropFirst(isNegative ? 1 : 0))
                return count.map { EventTime(milliseconds: isNegative ? -$0 : $0) }
            }
        }
    }

    // MARK: Optional

    package var eventType: NotificationType? {
        get throws(DispatchRecordError) {
            try optional(.eventType) { text in
                NotificationType.allCases.first { text.elementsEqual($0.rawValue.utf8) }
            }
        }
    }

    /// The audience by which the device was found.
    package var audience: UnsafeRawBufferPointer? { self[.audience] }

    package var orderID: UnsafeRawBufferPointer? { self[.orderID] }

    /// The field that is missing and was sent empty; nil if there is none.
    package var missingField: MissingField? {
        get throws(DispatchRecordError) {
            try optional(.degraded) { text in
                MissingField.allCases.first { sameBytes(text, UnsafeRawBufferPointer($0.name)) }
            }
        }
    }

    package var traceparent: UnsafeRawBufferPointer? { self[.traceparent] }

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

    private func required<Value>(
        _ header: DispatchHeader, _ read: (UnsafeRawBufferPointer) -> Value?
    ) throws(DispatchRecordError) -> Value {
        guard let value = try optional(header, read) else { throw DispatchRecordError(header, found: nil) }
        return value
    }

    private func optional<Value>(
        _ header: DispatchHeader, _ read: (UnsafeRawBufferPointer) -> Value?
    ) throws(DispatchRecordError) -> Value? {
        guard let text = self[header] else { return nil }
        guard let value = read(text) else { throw DispatchRecordError(header, found: text) }
        return value
    }
}
