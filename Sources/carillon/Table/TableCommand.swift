import Arguments

/// `carillon table`
struct TableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "table",
        abstract: "Check or wipe the stored subscriptions table.",
        examples: [
            ("carillon table check --state-dir /var/lib/carillon/carillon/host-1", "Read every entry."),
            ("carillon table wipe", "Delete it; the next start reads the topic again."),
        ],
        subcommands: [TableCheckCommand.self, TableWipeCommand.self], isHidden: true)
}
