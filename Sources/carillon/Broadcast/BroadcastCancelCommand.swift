import Arguments
import Broadcasts
import Pipeline

/// `carillon broadcast cancel`
struct BroadcastCancelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Send a broadcast to nobody else.",
        discussion: """
            Shows its progress and asks for the number of devices that it has reached, then writes a record without a \
            value. A device that has the push keeps it: no provider takes one back. What 'carillon deliver' has not sent \
            yet is not sent.
            """,
        examples: [
            ("carillon broadcast cancel 1235", "Shows how far it is, and asks."),
            ("carillon broadcast cancel 1235 --yes", "From a script."),
        ])

    @Argument(help: "The notificationid.") var id: String
    @Flag(help: "Print the outcome as JSON.") var json: Bool
    @OptionGroup(title: "Confirmation") var confirmation: ConfirmOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checkedForBroadcasts()
        let topic = configuration.topics.broadcasts
        let log = try BroadcastLog.read(configuration)
        if log.isCancelled(id) { return Terminal.write("The broadcast \(id) is cancelled already.\n") }
        let entry = try log.found(id, configuration)
        let progress = try BroadcastGroup.read(configuration).journaledProgress(of: entry, configuration)
        let status = BroadcastStatus(entry: entry, progress: progress, topic: topic, now: WallClock.now)
        if confirmation.dryRun {
            try Output.print(status, json: json)
            return Terminal.complain("Nothing was cancelled.\n")
        }
        if !confirmation.yes { Terminal.complain(status.text) }
        try confirmation.confirmation(of: .cancel).judge(progress.reached, of: "devices that it has reached")
        var writer = try TopicWriter(topic, configuration)
        try writer.write(key: id, value: nil)
        try writer.finish()
        let outcome = BroadcastCancellation(
            id: id, reached: progress.reached, joinedLater: progress.late, partitionsDone: progress.stages.over,
            partitions: progress.partitions)
        try Output.print(outcome, json: json)
    }
}

/// A cancelled broadcast, and its progress a moment before.
struct BroadcastCancellation: Report {
    var id: String
    var reached: Int
    var joinedLater: Int
    var partitionsDone: Int
    var partitions: Int

    var rows: [Row] {
        let devices = ProgressLine.counted(reached + joinedLater, "device")
        return [.line("cancelled \(id): it had reached \(devices), \(partitionsDone) of \(partitions) partitions")]
    }
}
