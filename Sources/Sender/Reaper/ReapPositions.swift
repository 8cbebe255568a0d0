import KafkaClient
import Notifications

/// What the reaper's group has committed: how far it has read `notifications.deliveries`, which credentials wait for a
/// person, and when one has confirmed.
///
/// The metadata of an offset is `v1 h=<hash>,… c=<ms>`, without the words that have nothing to say.
package struct ReapPositions: Equatable, Sendable {
    /// By partition of `notifications.deliveries`, where to continue.
    package var next: [Int32: Int64] = [:]
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
            switch name {
            case "h": held.formUnion(value.split(separator: ",").map(String.init))
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
        let held = held.isEmpty ? "" : " h=" + held.sorted().joined(separator: ",")
        let confirmed = confirmed.map { " c=\($0.milliseconds)" } ?? ""
        return next.mapValues { CommittedOffset(offset: Offset($0), metadata: "v1" + held + confirmed) }
    }
}
