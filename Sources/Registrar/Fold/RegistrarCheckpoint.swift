import KafkaClient
import Time

/// What a registrar's table stores about itself, in the same transaction as its entries.
struct RegistrarCheckpoint: Equatable {
    /// Raised with any change of the entries or of this text.
    private static let version = "v4"

    /// The cluster's id; nil where the broker does not report it.
    var cluster: String?
    /// When it had everything in its logs, or a little later.
    var time: WallTime
    /// By partition of each topic that is folded: the records below.
    var positions: [TopicPartition: Int64]

    /// Lines: version and time; cluster; a partition with its offset each.
    var bytes: [UInt8] {
        let lines = positions.sorted { $0.key < $1.key }.map { "\($0.topic) \($0.partition) \($1)" }
        return Array(
            (["\(Self.version) t=\(time.milliseconds)", cluster ?? ""] + lines).joined(separator: "\n").utf8)
    }

    init(cluster: String?, time: WallTime, positions: [TopicPartition: Int64]) {
        (self.cluster, self.time, self.positions) = (cluster, time, positions)
    }

    /// Nil if another version wrote it.
    init?(_ bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 2, lines[0].hasPrefix("\(Self.version) t="),
            let milliseconds = Int64(lines[0].dropFirst(Self.version.count + 3))
        else { return nil }
        var positions: [TopicPartition: Int64] = [:]
        for line in lines.dropFirst(2) {
            let words = line.split(separator: " ")
            guard words.count == 3, let partition = Int32(words[1]), let offset = Int64(words[2]) else { return nil }
            positions[TopicPartition(topic: String(words[0]), partition: partition)] = offset
        }
        self.init(
            cluster: lines[1].isEmpty ? nil : String(lines[1]), time: WallTime(milliseconds: milliseconds),
            positions: positions)
    }

    /// Why the logs cannot bring this table up to date; nil if they can.
    ///
    /// - Parameters:
    ///   - ends: of every partition that is to be folded.
    ///   - largestAge: an older table may have missed tombstones, in milliseconds (docs/kafka.md 18).
    func problem(
        cluster: String?, ends: [TopicPartition: Offset], now: WallTime, largestAge: Int64
    ) -> String? {
        if let cluster, let own = self.cluster, cluster != own { return "it is of another cluster" }
        guard Set(positions.keys) == Set(ends.keys) else { return "it is of other topics or partitions" }
        if let ahead = positions.first(where: { $0.value > ends[$0.key]?.value ?? 0 }) {
            return "\(ahead.key) ends before what was read of it"
        }
        guard abs(now - time) <= largestAge else { return "it is so old that it may have missed what was deleted" }
        return nil
    }
}
