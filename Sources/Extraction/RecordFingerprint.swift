/// The first 8 bytes of a SHA-256, big-endian: how every hash is stored that names a key (ADR 30).
package struct StoredHash: Hashable, Comparable, Sendable {
    package let number: UInt64

    package init(number: UInt64) {
        self.number = number
    }

    package init(of bytes: UnsafeRawBufferPointer) {
        number = withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { hash in
            guard let base = hash.baseAddress else { return 0 }
            SHA256.hash(bytes, into: base)
            return UInt64(bigEndian: base.load(as: UInt64.self))
        }
    }

    /// 16 lower-case hex digits.
    package var text: String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Nil where the text is something else than 16 lower-case hex digits.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == 16,
            text.utf8.allSatisfy({
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }),
            let number = UInt64(text, radix: 16)
        else { return nil }
        self.number = number
    }

    package static func < (left: StoredHash, right: StoredHash) -> Bool { left.number < right.number }
}

/// Tells one record from every other that may stand at its offset: in another log of the same name, or in a topic that
/// was deleted and created again (ADR 30).
package struct RecordFingerprint: Hashable, Sendable {
    package var offset: Int64
    /// In milliseconds since 1970; nil for a record without one.
    package var timestamp: Int64?
    /// Of the key; nil for a record without a key.
    package var key: StoredHash?

    package init(offset: Int64, timestamp: Int64?, key: StoredHash?) {
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
    }

    package init(offset: Int64, timestamp: Int64?, key: UnsafeRawBufferPointer?) {
        self.init(offset: offset, timestamp: timestamp, key: key.map(StoredHash.init(of:)))
    }

    /// `<offset>:<timestamp>:<hash of the key>`, with `null` for what the record does not have.
    package var text: String {
        "\(offset):\(timestamp.map(String.init) ?? "null"):\(key?.text ?? "null")"
    }

    /// Nil where the text is none.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let offset = Int64(parts[0]) else { return nil }
        self.offset = offset
        if parts[1] != "null" {
            guard let timestamp = Int64(parts[1]) else { return nil }
            self.timestamp = timestamp
        }
        if parts[2] != "null" {
            guard let key = StoredHash(parts[2]) else { return nil }
            self.key = key
        }
    }
}
