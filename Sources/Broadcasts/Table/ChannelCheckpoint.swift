import Notifications

/// What a channel table stores about itself, in the same transaction as its devices.
struct ChannelCheckpoint: Equatable {
    /// Which log it is the fold of.
    struct Origin: Equatable, Sendable {
        var topic: String
        var partition: Int32
        /// The cluster's id; nil where the broker does not report it.
        var cluster: String?

        /// Whether a table of this origin can continue as one of another.
        func continues(as other: Origin) -> Bool {
            topic == other.topic && partition == other.partition
                && (cluster == nil || other.cluster == nil || cluster == other.cluster)
        }
    }

    /// The fold is of the records below.
    var offset: Int64
    /// See ``ChannelTable/time``.
    var time: WallTime
    /// The last records below the offset.
    var records = RecentFingerprints()

    /// Lines: version, that of the entries, partition, offset and time; topic; cluster; fingerprints.
    func text(_ origin: Origin) -> String {
        "v1 e=\(TableEntry.version) p=\(origin.partition) o=\(offset) t=\(time.milliseconds)\n\(origin.topic)\n\(origin.cluster ?? "")\n\(records.text)"
    }

    /// Nil if another version wrote it.
    static func read(_ bytes: UnsafeRawBufferPointer) -> (origin: Origin, checkpoint: ChannelCheckpoint)? {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 4, let words = MetadataWords(String(lines[0])), let records = RecentFingerprints(lines[3])
        else { return nil }
        var numbers: [Substring: Int64] = [:]
        for (name, value) in words.pairs { numbers[name] = Int64(value) }
        guard numbers["e"] == Int64(TableEntry.version), let partition = numbers["p"].flatMap(Int32.init(exactly:)),
            let offset = numbers["o"], let time = numbers["t"]
        else { return nil }
        let origin = Origin(
            topic: String(lines[1]), partition: partition, cluster: lines[2].isEmpty ? nil : String(lines[2]))
        return (origin, ChannelCheckpoint(offset: offset, time: WallTime(milliseconds: time), records: records))
    }
}
