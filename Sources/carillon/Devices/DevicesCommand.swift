import Arguments

/// `carillon devices`
struct DevicesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "Show and forget the devices that the registrar knows.",
        examples: [
            ("carillon devices show installation-0001", "What is known of a device."),
            ("carillon devices list --person 17", "Where somebody is logged in."),
        ],
        subcommands: [DevicesShowCommand.self, DevicesListCommand.self, DevicesForgetCommand.self])
}
