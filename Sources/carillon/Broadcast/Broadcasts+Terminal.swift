import Broadcasts
import KafkaClient
import Pipeline

// What a command reads, with progress on a terminal where it may take long.

extension BroadcastLog {
    static func read(_ configuration: PipelineConfiguration) throws -> BroadcastLog {
        try read(configuration, logger: configuration.clientSink)
    }
}

extension BroadcastGroup {
    static func read(_ configuration: PipelineConfiguration) throws(KafkaError) -> BroadcastGroup {
        try read(configuration, logger: configuration.clientSink)
    }

    static func readJournal(
        _ configuration: PipelineConfiguration, since time: WallTime?, take: (BroadcastJournalEntry) -> Void
    ) throws {
        var line = ProgressLine(unit: "transactions")
        defer { line.clear() }
        try readJournal(configuration, since: time, logger: configuration.clientSink, take: take) {
            line.show($0, fraction: $1)
        }
    }

    /// How far a broadcast has got, also by the journal since its record.
    func journaledProgress(
        of entry: BroadcastLog.Entry, _ configuration: PipelineConfiguration
    ) throws -> BroadcastProgress {
        var progress = progress(of: entry)
        try Self.readJournal(configuration, since: entry.time) { progress.note($0) }
        return progress
    }
}

extension SubscribedDevices {
    static func read(
        _ audiences: [String], _ configuration: PipelineConfiguration, now: WallTime
    ) throws -> SubscriptionTable {
        var line = ProgressLine(unit: "subscriptions")
        defer { line.clear() }
        return try read(
            audiences, configuration, now: now, logger: configuration.clientSink,
            progress: { line.show($0, fraction: $1) })
    }
}

extension BroadcastReach {
    static func count(
        _ broadcast: BroadcastNotification, _ configuration: PipelineConfiguration, now: WallTime
    ) throws -> BroadcastReach {
        var line = ProgressLine(unit: "subscriptions")
        defer { line.clear() }
        return try count(
            broadcast, configuration, now: now, logger: configuration.clientSink,
            progress: { line.show($0, fraction: $1) })
    }
}
