import Arguments

/// `carillon dispatch`
struct DispatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dispatch",
        abstract: "Work with the records of the dispatch topics.",
        examples: [
            (
                "carillon dispatch expand --config carillon.properties --to notifications.dispatch.single --from latest",
                "Records for single devices, for a sender that does not know grouped ones."
            )
        ],
        subcommands: [DispatchExpandCommand.self])
}
