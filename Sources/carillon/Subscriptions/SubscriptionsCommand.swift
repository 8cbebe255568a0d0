import Arguments

/// `carillon subscriptions`
struct SubscriptionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions",
        abstract: "List subscriptions, or import many.",
        examples: [
            ("carillon subscriptions list --audience place/42", "The devices of a place."),
            ("carillon subscriptions import subscriptions.jsonl", "JSON lines, one subscription each."),
        ],
        subcommands: [SubscriptionsListCommand.self, SubscriptionsImportCommand.self])
}
