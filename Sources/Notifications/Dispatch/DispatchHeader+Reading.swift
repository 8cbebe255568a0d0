import NotificationPayload

/// What the headers of every record say; `found` is the value of the header, nil if it is missing or null.
extension DispatchHeader {
    package static func messageID(
        _ found: UnsafeRawBufferPointer?
    ) throws(DispatchRecordError) -> UnsafeRawBufferPointer {
        try messageID.required(found) { $0.isEmpty ? nil : $0 }
    }

    package static func platform(_ found: UnsafeRawBufferPointer?) throws(DispatchRecordError) -> Platform {
        try platform.required(found) { text in Platform.allCases.first { sameBytes(text, $0.headerValue) } }
    }

    package static func expiresAt(_ found: UnsafeRawBufferPointer?) throws(DispatchRecordError) -> WallTime {
        try expiresAt.required(found) { text in
            let isNegative = text.first == UInt8(ascii: "-")
            let count = Int64(digits: text.dropFirst(isNegative ? 1 : 0))
            return count.map { WallTime(milliseconds: isNegative ? -$0 : $0) }
        }
    }

    /// The value of a header that every record has.
    func required<Value>(
        _ found: UnsafeRawBufferPointer?, _ read: (UnsafeRawBufferPointer) -> Value?
    ) throws(DispatchRecordError) -> Value {
        guard let found, let value = read(found) else { throw DispatchRecordError(self, found: found) }
        return value
    }
}
