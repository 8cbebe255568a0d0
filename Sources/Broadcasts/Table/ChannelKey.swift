import Notifications

/// The key of a device of a channel: 16 bytes of the SHA-256 of the audience, then the 32 of the token's, as in the table
/// of subscriptions.
struct ChannelKey: Hashable, Comparable {
    /// The bytes as big-endian numbers, so that the order of keys is the order of their bytes.
    private var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

    /// - Parameter bytes: 48.
    init(_ bytes: UnsafeRawBufferPointer) {
        func word(_ index: Int) -> UInt64 {
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
        }
        words = (word(0), word(1), word(2), word(3), word(4), word(5))
    }

    init(_ audience: ChannelHash, device: [UInt8]) {
        self = (audience.bytes + device).withUnsafeBytes { ChannelKey($0) }
    }

    var audience: ChannelHash { ChannelHash(first: words.0, second: words.1) }

    /// The hash of the token, 32 bytes.
    var device: [UInt8] { withBytes { Array($0.dropFirst(TableEntry.audienceCount)) } }

    /// The next key of the same audience; nil after the last possible one.
    var successor: ChannelKey? {
        var next = self
        for word in [\Self.words.5, \.words.4, \.words.3, \.words.2] {
            let (sum, overflow) = next[keyPath: word].addingReportingOverflow(1)
            next[keyPath: word] = sum
            if !overflow { return next }
        }
        return nil
    }

    func withBytes<Result, Failure>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        let bigEndian = (
            words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian, words.4.bigEndian,
            words.5.bigEndian
        )
        let result = withUnsafeBytes(of: bigEndian) { bytes in
            Swift.Result { () throws(Failure) in try body(bytes) }
        }
        return try result.get()
    }

    static func == (left: Self, right: Self) -> Bool { left.words == right.words }
    static func < (left: Self, right: Self) -> Bool { left.words < right.words }

    /// The hashes are even already.
    func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.2)
    }
}

/// The first 16 bytes of the SHA-256 of an audience.
package struct ChannelHash: Hashable {
    var first: UInt64
    var second: UInt64

    init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    init(of audience: String) {
        let key = withUnsafeTemporaryAllocation(byteCount: TableEntry.keyCount, alignment: 8) { key in
            key.initializeMemory(as: UInt8.self, repeating: 0)
            if let start = key.baseAddress {
                Array(audience.utf8).withUnsafeBytes { TableEntry.writeAudience($0, to: start) }
            }
            return ChannelKey(UnsafeRawBufferPointer(key))
        }
        self = key.audience
    }

    var bytes: [UInt8] {
        withUnsafeBytes(of: first.bigEndian) { Array($0) } + withUnsafeBytes(of: second.bigEndian) { Array($0) }
    }
}
