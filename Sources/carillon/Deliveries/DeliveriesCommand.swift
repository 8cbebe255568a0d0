import Arguments

/// `carillon deliveries`
struct DeliveriesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries",
        abstract: "Say what became of pushes at their providers: count the outcomes, or check that none is missing.",
        discussion: "Reads what 'carillon deliver' has written, and needs its settings. Writes nothing.",
        examples: [
            ("carillon deliveries summary --from -1h", "The outcomes of the last hour, counted."),
            ("carillon deliveries check", "Whether each record that a lane has finished has one outcome."),
        ],
        subcommands: [DeliveriesSummaryCommand.self, DeliveriesCheckCommand.self])
}
