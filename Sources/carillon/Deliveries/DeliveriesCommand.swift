import Arguments

/// `carillon deliveries`
struct DeliveriesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries",
        abstract: "Say what became of pushes at their providers.",
        discussion: "Reads what 'carillon deliver' has written, and needs its settings. Writes nothing.",
        examples: [
            ("carillon deliveries summary --from -1h", "The outcomes of the last hour, counted.")
        ],
        subcommands: [DeliveriesSummaryCommand.self])
}
