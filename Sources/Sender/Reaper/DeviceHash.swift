import Digests

/// The SHA-256 of a device's token, in 32 bytes.
package struct DeviceHash: Hashable, Sendable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Nil unless these are 64 lower-case hex digits.
    package init?(_ digits: UnsafeRawBufferPointer) {
        let words = withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) {
            hash -> (UInt64, UInt64, UInt64, UInt64)? in
            guard let start = hash.baseAddress, Hex.read(digits, to: start) else { return nil }
            return start.load(as: (UInt64, UInt64, UInt64, UInt64).self)
        }
        guard let words else { return nil }
        self.words = words
    }

    package init?(_ text: String) {
        var text = text
        guard let hash = text.withUTF8({ DeviceHash(UnsafeRawBufferPointer($0)) }) else { return nil }
        self = hash
    }

    /// 64 digits of hex in lower case.
    package var hex: String {
        withUnsafeBytes(of: words) { bytes in bytes.baseAddress.map { Hex.string($0) } ?? "" }
    }

    package static func == (left: DeviceHash, right: DeviceHash) -> Bool { left.words == right.words }

    package func hash(into hasher: inout Hasher) {
        // It is a hash already.
        hasher.combine(words.0)
    }
}
