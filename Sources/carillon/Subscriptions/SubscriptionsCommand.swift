import Arguments

/// `carillon subscriptions`
struct SubscriptionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions",
        abstract: "List subscriptions, import many, or move those that are in a wrong partition.",
        examples: [
            ("carillon subscriptions list --audience place/42", "The devices of a place."),
            ("carillon subscriptions import subscriptions.jsonl", "JSON lines, one subscription each."),
            ("carillon subscriptions mend --dry-run", "Which are in a wrong partition, and what moving them changes."),
        ],
        subcommands: [
            SubscriptionsListCommand.self, SubscriptionsImportCommand.self, SubscriptionsMendCommand.self,
        ])
}
