import Digests
import Notifications

/// What is committed of a partition of the subscriptions: how far they were read, and how far its pass has got.
///
/// The metadata is `v1 n=<partitions> t=<ms of the commit> b=<offset>`, and while a pass is under way `s=<offset>` and
/// `k=<hash, base64url>` (docs/broadcasts.md).
package struct BroadcastOffset: Equatable, Sendable {
    /// A pass of a broadcast over the devices of the partition.
    package struct Pass: Equatable, Sendable {
        /// It sends to devices that joined below this offset.
        package var joinedBelow: Int64
        /// The hash of the last device that it has looked at, 32 bytes; nil: of none yet.
        package var key: [UInt8]?

        package init(joinedBelow: Int64, key: [UInt8]?) {
            self.joinedBelow = joinedBelow
            self.key = key
        }
    }

    /// The next offset of the subscriptions.
    package var offset: Int64
    /// The partitions of the subscriptions' topic when it was committed.
    package var partitions: Int32
    /// When it was committed.
    package var time: WallTime
    /// The broadcast whose pass is under way, or the next one.
    package var broadcast: Int64
    package var pass: Pass?

    package init(offset: Int64, partitions: Int32, time: WallTime, broadcast: Int64, pass: Pass? = nil) {
        self.offset = offset
        self.partitions = partitions
        self.time = time
        self.broadcast = broadcast
        self.pass = pass
    }

    /// At most 160 bytes.
    package var metadata: String {
        var text = "v1 n=\(partitions) t=\(time.milliseconds) b=\(broadcast)"
        guard let pass else { return text }
        text += " s=\(pass.joinedBelow)"
        if let key = pass.key { text += " k=\(String(decoding: Base64URL.encode(key), as: UTF8.self))" }
        return text
    }

    /// Nil for metadata that is not of broadcasts, such as that of an operator's reset. Words of later versions are
    /// ignored.
    package init?(offset: Int64, metadata: String) {
        guard offset >= 0, let words = MetadataWords(metadata) else { return nil }
        var (partitions, time, broadcast): (Int32?, WallTime?, Int64?)
        var joinedBelow: Int64?
        var key: [UInt8]?
        let any = 0...Int64.max
        for (name, value) in words.pairs {
            switch name {
            case "n": partitions = MetadataWords.number(value, 1...Int64(Int32.max)).map { Int32($0) }
            case "t": time = MetadataWords.number(value, any).map(WallTime.init(milliseconds:))
            case "b": broadcast = MetadataWords.number(value, any)
            case "s":
                guard let number = MetadataWords.number(value, any) else { return nil }
                joinedBelow = number
            case "k":
                guard let bytes = Base64URL.decode(value.utf8), bytes.count == 32 else { return nil }
                key = bytes
            default: continue
            }
        }
        guard let partitions, let time, let broadcast, key == nil || joinedBelow != nil else { return nil }
        self.init(
            offset: offset, partitions: partitions, time: time, broadcast: broadcast,
            pass: joinedBelow.map { Pass(joinedBelow: $0, key: key) })
    }
}
