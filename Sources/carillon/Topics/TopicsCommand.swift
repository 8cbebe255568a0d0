import Arguments

/// `carillon topics`
struct TopicsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topics",
        abstract: "Create or check the topics of the pipeline.",
        examples: [
            ("carillon topics create -b localhost:9092 --dry-run", "What would be created."),
            ("carillon topics check -b localhost:9092", "What differs; ends with 1 if anything does."),
        ],
        subcommands: [TopicsCreateCommand.self, TopicsCheckCommand.self])
}
