import Broadcasts
import Pipeline

/// What is read of the broadcasts for one answer.
struct BroadcastReads {
    let configuration: PipelineConfiguration
    let logger: Logger
    let turn: TopicReads.Turn

    init(_ configuration: PipelineConfiguration, _ turn: TopicReads.Turn, logger: Logger) {
        (self.configuration, self.turn, self.logger) = (configuration, turn, logger)
    }

    func log() throws -> BroadcastLog {
        try BroadcastLog.read(
            configuration, logger: logger.clientSink, timeout: TopicReads.timeout, isStopped: { turn.isStopped })
    }

    func group() throws -> BroadcastGroup {
        try BroadcastGroup.read(
            configuration, logger: logger.clientSink, timeout: TopicReads.timeout, patience: TopicReads.timeout)
    }

    func progress(of entry: BroadcastLog.Entry) throws -> BroadcastProgress {
        var progress = try group().progress(of: entry)
        try journal(since: entry) { progress.note($0) }
        return progress
    }

    /// The entries since a broadcast's record.
    func journal(since entry: BroadcastLog.Entry, take: (BroadcastJournalEntry) -> Void) throws {
        try BroadcastGroup.readJournal(
            configuration, since: entry.time, logger: logger.clientSink, timeout: TopicReads.timeout,
            isStopped: { turn.isStopped }, take: take)
    }
}

extension KeyEntry {
    /// A key for some audiences does not hear of what is for others.
    ///
    /// - Parameter audience: nil: that cannot be read.
    func mayHear(of audience: String?) -> Bool { permits(audiences: audience.map { [$0] } ?? []) }
}
