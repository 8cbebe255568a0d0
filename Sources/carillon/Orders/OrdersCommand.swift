import Arguments

/// `carillon orders`
struct OrdersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "orders",
        abstract: "Ask the pipeline to notify about orders.",
        examples: [
            ("carillon orders list-event --place 42 --ids 4711,4712", "List two orders to the devices of a place.")
        ],
        subcommands: [OrdersListEventCommand.self])
}
