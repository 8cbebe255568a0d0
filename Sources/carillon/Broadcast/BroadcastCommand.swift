import Arguments
import Pipeline

/// `carillon broadcast`
struct BroadcastCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "broadcast",
        abstract: "Send a message to every device in a channel, cancel it, and see how far it has got.",
        discussion: "These commands write and read topic.broadcasts; 'carillon broadcasts', a daemon, sends.",
        examples: [
            ("carillon broadcast send maintenance.json", "Checks it, counts the devices, and asks."),
            ("carillon broadcast list", "Those that are valid now."),
            ("carillon broadcast cancel 1235", "It goes to nobody else."),
        ],
        subcommands: [
            BroadcastSendCommand.self, BroadcastCancelCommand.self, BroadcastListCommand.self,
            BroadcastStatusCommand.self,
        ])
}

extension ConfigurationOptions {
    /// The configuration of a command that needs `topic.broadcasts`.
    ///
    /// - Throws: every problem at once: exit code 78.
    func checkedForBroadcasts() throws -> PipelineConfiguration {
        try checked(
            with: \.broadcasts, "broadcasts", so: "nothing reads broadcasts", alsoFor: "carillon broadcasts")
    }
}
