import Broadcasts
import Replay

extension BroadcastExplanation: Report {
    /// - Parameter device: the SHA-256 of its token, in hex.
    /// - Throws: if there is no such broadcast, or it is a dead letter: exit code 64.
    static func find(
        _ id: String, _ device: String, _ configuration: PipelineConfiguration
    ) throws -> BroadcastExplanation {
        let entry = try BroadcastLog.read(configuration).found(id, configuration)
        guard let broadcast = entry.broadcast else {
            throw CommandFailure(.usage, "the broadcast \(id) is a dead letter; 'carillon broadcast status' says why")
        }
        var log = try KafkaLog(configuration, logger: configuration.clientSink, isStopped: { false })
        var line = ProgressLine(unit: "subscriptions")
        defer { line.clear() }
        return try log.explain(
            entry, broadcast, for: device, BroadcastGroup.read(configuration), configuration,
            journal: { take in try BroadcastGroup.readJournal(configuration, since: entry.time) { take($0) } },
            progress: { line.show($0, fraction: $1) })
    }

    var rows: [Row] {
        let lines = outcomes.map { PushOutcome.lines($0, at: $0.map(\.at), in: topics.deliveries) } ?? []
        return [
            .pair("broadcast", "\(entry.id) (\(broadcast.kind)) to \(broadcast.audience), \(record)"),
            .pair("device", "\(device.prefix(12))…, \(topics.subscriptions)/\(partition)"),
        ] + fates.map { .pair("outcome", $0.sentence) } + lines.map { .pair("provider", $0) }
    }
}
