import Digests

/// What a lane commits of a partition: its first unfinished offset, which offsets above it are finished, and which may
/// have been sent.
///
/// The metadata is `v2 n=<partitions> s=<offsets that may have been sent> d=<bits, base64url>`.
package struct LaneOffset: Equatable, Sendable {
    /// The most offsets above the first unfinished one that the metadata can describe: their bits take 2,731 of the
    /// 4,096 bytes that Kafka allows.
    package static let largestWindow = 16_384

    /// The first unfinished offset.
    package var offset: Int64
    /// The partitions of the dispatch topic when it was committed.
    package var partitions: Int32
    /// Nothing unfinished at or above this offset may have been sent.
    package var sentBelow: Int64
    /// Bit i of byte j (from the lowest) is offset + 8 j + i, and set if that one is finished. Without zeros at the end.
    package var finished: [UInt8]

    /// - Parameter sentBelow: nil: nothing that is unfinished may have been sent.
    package init(offset: Int64, partitions: Int32, sentBelow: Int64? = nil, finished: [UInt8] = []) {
        self.offset = offset
        self.partitions = partitions
        self.sentBelow = max(sentBelow ?? offset, offset)
        self.finished = finished
    }

    /// At most 2,800 bytes.
    package var metadata: String {
        let bits = String(decoding: Base64URL.encode(finished), as: UTF8.self)
        return "v2 n=\(partitions) s=\(sentBelow - offset)" + (bits.isEmpty ? "" : " d=\(bits)")
    }

    /// Nil for metadata that is not a lane's of this version, such as that of an operator's reset. Words of later versions are ignored.
    package init?(offset: Int64, metadata: String) {
        guard let words = MetadataWords(metadata, version: "v2") else { return nil }
        var partitions: Int32?
        var sent: Int64?
        var finished: [UInt8] = []
        for (name, value) in words.pairs {
            switch name {
            case "n": partitions = MetadataWords.number(value, 1...Int64(Int32.max)).map { Int32($0) }
            case "s": sent = MetadataWords.number(value, 0...Int64.max - max(offset, 0))
            case "d":
                guard let bits = Base64URL.decode(value.utf8), bits.count * 8 <= Self.largestWindow else {
                    return nil
                }
                finished = bits
            default: continue
            }
        }
        guard let partitions, let sent else { return nil }
        self.init(offset: offset, partitions: partitions, sentBelow: offset + sent, finished: finished)
    }

    /// Whether a record is finished: it is below the offset, or among the finished ones above it.
    package func isFinished(_ offset: Int64) -> Bool {
        guard offset >= self.offset else { return true }
        let (bit, isTooFar) = offset.subtractingReportingOverflow(self.offset)
        guard !isTooFar, bit < Int64(finished.count * 8) else { return false }
        return finished[Int(bit / 8)] >> UInt8(bit % 8) & 1 == 1
    }
}
