import Digests

/// Distinguishes a record from any other that may be at its offset: in another log of the same name, or in a topic that
/// was deleted and recreated (ADR 30).
package struct RecordFingerprint: Hashable, Sendable, Codable {
    package var offset: Int64
    @Nullable private var time: Milliseconds?
    /// Nil for a record without one.
    package var timestamp: WallTime? {
        get { time?.wrappedValue }
        set { time = newValue.map(Milliseconds.init(wrappedValue:)) }
    }
    /// The hash of the key; nil for a record without a key.
    @Nullable package var key: StoredHash?

    private enum CodingKeys: String, CodingKey {
        case offset
        case time = "timestamp"
        case key
    }

    package init(offset: Int64, timestamp: WallTime?, key: StoredHash?) {
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
    }

    package init(offset: Int64, timestamp: WallTime?, key: UnsafeRawBufferPointer?) {
        self.init(offset: offset, timestamp: timestamp, key: key.map(StoredHash.init(of:)))
    }

    /// `<offset>:<timestamp>:<hash of the key>`, with `null` for a missing timestamp or key.
    package var text: String {
        "\(offset):\(timestamp.map { String($0.milliseconds) } ?? "null"):\(key?.text ?? "null")"
    }

    /// Nil if the text is not a fingerprint.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let offset = Int64(parts[0]) else { return nil }
        self.offset = offset
        if parts[1] != "null" {
            guard let timestamp = Int64(parts[1]) else { return nil }
            self.timestamp = WallTime(milliseconds: timestamp)
        }
        if parts[2] != "null" {
            guard let key = StoredHash(parts[2]) else { return nil }
            self.key = key
        }
    }
}
