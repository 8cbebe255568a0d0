import Arguments

/// `carillon offsets`
struct OffsetsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "offsets",
        abstract: "Show or set the offsets from which the group reads the events; pass a batch that takes all memory.",
        examples: [
            ("carillon offsets show -b localhost:9092", "Offsets, lag and timer watermarks."),
            ("carillon offsets set --to 2026-11-21T10:00:00Z --dry-run", "What a move would skip or send again."),
        ],
        subcommands: [OffsetsShowCommand.self, OffsetsSetCommand.self, OffsetsPassCommand.self])
}
