/// The first 8 bytes of a SHA-256, big-endian: the form in which hashes of keys are stored (ADR 30).
package struct StoredHash: Hashable, Comparable, Sendable, Codable {
    package let number: UInt64

    package init(number: UInt64) {
        self.number = number
    }

    package init(of bytes: UnsafeRawBufferPointer) {
        number = SHA256.withHash(of: bytes) { UInt64(bigEndian: $0.load(as: UInt64.self)) }
    }

    /// 16 lower-case hex digits.
    package var text: String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// nil unless the text is 16 lower-case hex digits.
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

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let hash = StoredHash(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not 16 lower-case hex digits")
        }
        self = hash
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
