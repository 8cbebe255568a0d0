import Arguments
import Broadcasts
import Pipeline

/// `carillon broadcast status`
struct BroadcastStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how far a broadcast has got.",
        discussion: """
            Of the newest broadcast with this notificationid, also if it was cancelled: how many devices it has reached by the journal, \
            and how many are left. What is not counted yet is estimated from the partitions that have begun, and \
            marked as about.
            """,
        examples: [
            ("carillon broadcast status 1235", "For a person."),
            ("carillon broadcast status 1235 --json", "As one JSON document."),
        ])

    @Argument(help: "The notificationid.") var id: String
    @Flag(help: "Print one JSON document.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checkedForBroadcasts()
        let entry = try BroadcastLog.read(configuration).found(id, configuration)
        let progress = try BroadcastGroup.read(configuration).journaledProgress(of: entry, configuration)
        let status = BroadcastStatus(
            entry: entry, progress: progress, topic: configuration.topics.broadcasts, now: WallClock.now)
        try Output.print(status, json: json)
    }
}

extension BroadcastLog {
    /// The newest broadcast with an id, also one that was cancelled.
    ///
    /// - Throws: if there is none: exit code 64.
    func found(_ id: String, _ configuration: PipelineConfiguration) throws(CommandFailure) -> Entry {
        if let entry = newest(id) { return entry }
        let topic = configuration.topics.broadcasts
        throw isCancelled(id)
            ? CommandFailure(.usage, "the broadcast \(id) was cancelled, and \(topic) no longer has it")
            : CommandFailure(
                .usage, "\(topic) has no broadcast with the notificationid \(id); 'carillon broadcast list' shows them")
    }
}
