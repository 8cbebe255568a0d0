import Notifications

/// How long a topic has what was deleted, by its own settings. A pure function.
package enum TopicMemory {
    /// The broker looks for what is too old every few minutes, and removes files a minute later; its cleaner needs a while. In
    /// milliseconds.
    private static let slack: Int64 = 3_600_000
    /// Kafka's default for `max.compaction.lag.ms` is no bound; so is more than a hundred years.
    private static let unbounded: Int64 = 100 * 366 * 86_400_000

    /// After so many milliseconds nothing is left of a record that was there, nor of the tombstone that has deleted it; nil: the
    /// settings give no bound, or are not known.
    ///
    /// A segment is deleted once its *newest* record is too old, and takes records for `segment.ms`. A compacted record leaves
    /// once its tombstone was compacted, and the tombstone `delete.retention.ms` later, when the next compaction comes.
    ///
    /// - Parameter settings: the topic's, with the cluster's defaults.
    package static func time(_ settings: [String: String]) -> Int64? {
        func number(_ key: String) -> Int64? {
            guard let number = settings[key].flatMap({ Int64($0) }), (0..<unbounded).contains(number) else {
                return nil
            }
            return number
        }
        var times: [Int64] = []
        for policy in (settings["cleanup.policy"] ?? "").split(separator: ",") {
            switch policy {
            case "delete":
                if let retention = number("retention.ms"), let segment = number("segment.ms") {
                    times.append(retention + segment + slack)
                }
            case "compact":
                if let most = number("max.compaction.lag.ms"), let tombstones = number("delete.retention.ms") {
                    let lag = max(most, number("min.compaction.lag.ms") ?? 0)
                    times.append(2 * lag + tombstones + slack)
                }
            default: continue
            }
        }
        return times.min()
    }
}

extension PipelineConfiguration {
    /// The topics whose records have ids of people, or addresses of devices.
    package var topicsWithPeople: [String] {
        let all =
            [
                topics.commands, topics.devices, topics.people, topics.subscriptions, topics.requests, topics.events,
                topics.dispatch, topics.deadLetters,
            ] + (topics.broadcasts.isEmpty ? [] : [topics.broadcastDispatch])
            // Whoever asks may have no credentials, and the sender have them elsewhere.
            + topics.dispatchTopics.flatMap { delivery.retryTopics(of: $0) }
        return all.filter { !$0.isEmpty }
    }
}
