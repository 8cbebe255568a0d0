import Arguments

/// `carillon replay`
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Do past events again: show what they give, compare it with what was sent, or send what was missed.",
        discussion: """
            Replays the transactions of the journal with the orders and the subscriptions as they were then. Needs the \
            settings of 'carillon run' and can run beside it. Only 'redrive' and 'dead-letters' can notify people, and only \
            after two confirmations.
            """,
        examples: [
            ("carillon replay --from -2h", "The plan: what the events of the last two hours give."),
            ("carillon replay diff --from -2h", "Whether that is what was sent; ends with 1 if it is not."),
            ("carillon replay diff --from -1d --with-config new.properties", "What other rules would change."),
            ("carillon replay redrive --from -1h --dry-run", "What was missed in the last hour."),
            ("carillon replay write --order 4711 --output -", "An order's pushes as JSON lines."),
        ],
        subcommands: [
            ReplayPlanCommand.self, ReplayDiffCommand.self, ReplayWriteCommand.self, ReplayRedriveCommand.self,
            ReplayDeadLettersCommand.self,
        ], defaultSubcommand: ReplayPlanCommand.self)
}
