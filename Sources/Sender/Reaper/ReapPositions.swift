import KafkaClient
import Notifications

/// What the reaper's group has committed: how far it has read `notifications.deliveries`, which of its nulls are not
/// verified yet, which credentials wait for a person, and when one has confirmed.
///
/// The metadata of an offset is `v1 u=<partition>:<judged offset>,… h=<hash>,… c=<ms>`, without the words that have nothing to
/// say. The judged offsets are spread over the partitions of `notifications.deliveries`, since metadata has 4,096 bytes.
package struct ReapPositions: Equatable, Sendable {
    /// By partition of `notifications.deliveries`, where to continue.
    package var next: [Int32: Int64] = [:]
    /// By partition of `notifications.subscriptions`, the offset up to which it had been read when nulls were written
    /// there that are not verified yet.
    package var unverified: [Int32: Int64] = [:]
    /// Hashes of the credentials of which nothing is deleted until a person confirms it.
    package var held: Set<String> = []
    /// When a person last confirmed a number; nil if that is longer ago than the answers that count.
    package var confirmed: WallTime?
}

extension ReapPositions {
    /// Words of later versions are ignored, and so is metadata that is not a reaper's, such as that of an operator's
    /// reset.
    package init(_ committed: [Int32: CommittedOffset]) {
        next = committed.mapValues(\.offset.value)
        for (name, value) in committed.values.compactMap({ MetadataWords($0.metadata) }).flatMap(\.pairs) {
            let list = value.split(separator: ",")
            switch name {
            case "u":
                for pair in list.map({ $0.split(separator: ":") }) where pair.count == 2 {
                    guard let partition = Int32(pair[0]), let offset = Int64(pair[1]) else { continue }
                    unverified[partition] = min(unverified[partition] ?? offset, offset)
                }
            case "h": held.formUnion(list.map(String.init))
            case "c":
                guard let time = MetadataWords.number(value, 0...Int64.max).map(WallTime.init(milliseconds:)) else {
                    continue
                }
                confirmed = max(confirmed ?? time, time)
            default: continue
            }
        }
    }

    /// As it is committed.
    package var committed: [Int32: CommittedOffset] {
        let partitions = next.keys.sorted()
        var words = [[String]](repeating: [], count: partitions.count)
        for (index, (partition, offset)) in unverified.sorted(by: { $0.key < $1.key }).enumerated() {
            guard !partitions.isEmpty else { break }
            words[index % partitions.count].append("\(partition):\(offset)")
        }
        let held = held.isEmpty ? "" : " h=" + held.sorted().joined(separator: ",")
        let confirmed = confirmed.map { " c=\($0.milliseconds)" } ?? ""
        var committed: [Int32: CommittedOffset] = [:]
        for (partition, words) in zip(partitions, words) {
            let unverified = words.isEmpty ? "" : " u=" + words.joined(separator: ",")
            committed[partition] = CommittedOffset(
                offset: Offset(next[partition] ?? 0), metadata: "v1" + unverified + held + confirmed)
        }
        return committed
    }
}
