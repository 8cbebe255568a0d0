import Arguments

/// `carillon table`
struct TableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "table",
        abstract: "Check the stored subscriptions table.",
        examples: [
            ("carillon table check --state-dir /var/lib/carillon/carillon/host-1", "Read every entry.")
        ],
        subcommands: [TableCheckCommand.self], isHidden: true)
}
