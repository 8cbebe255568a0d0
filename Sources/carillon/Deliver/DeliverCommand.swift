import Arguments

/// `carillon deliver …`
struct DeliverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliver",
        abstract: "Send what is in the dispatch topic to FCM and APNs, and write down what became of it.",
        examples: [
            ("carillon deliver --config carillon.properties --from latest", "The first start, from now on.")
        ],
        subcommands: [
            DeliverRunCommand.self, DeliverReapCommand.self, DeliverPauseCommand.self, DeliverResumeCommand.self,
            DeliverPausedCommand.self,
        ],
        defaultSubcommand: DeliverRunCommand.self)
}
