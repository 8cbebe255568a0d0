import Arguments

/// `carillon replay`
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Do past events again: show what they give, or compare it with what was sent. Notifies nobody.",
        discussion: """
            Does the transactions of the journal again, with the orders and the subscriptions as they were then. Needs the \
            settings of 'carillon run', can be run beside it, and writes nothing that is delivered.
            """,
        examples: [
            ("carillon replay plan --from -2h", "What the events of the last two hours give."),
            ("carillon replay diff --from -2h", "Whether that is what was sent; ends with 1 if it is not."),
            ("carillon replay diff --from -1d --with-config new.properties", "What other rules would change."),
            ("carillon replay write --order 4711 --output -", "An order's pushes as JSON lines."),
        ],
        subcommands: [ReplayPlanCommand.self, ReplayDiffCommand.self, ReplayWriteCommand.self])
}
