import Arguments
import Pipeline
import Registrar

extension DeviceID: ExpressibleByArgument {
    package static var expected: String { allowed }
    package var argumentText: String { text }

    package init?(argument: String) { self.init(argument) }
}

/// `carillon devices show`
struct DevicesShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show what is known of a device.",
        discussion: """
            Of its address only the kind, the state and the SHA-256 are shown. live: it is reached; dead: its provider has \
            said that nobody has it; claimed: another device has registered it since. Reads topic.devices and \
            topic.people. If there is no such device, it says so and ends with 1.
            """,
        examples: [
            ("carillon devices show installation-0001", "For a person."),
            ("carillon devices show installation-0001 --json", "As GET /v1/devices/installation-0001 has it."),
        ])

    @Argument(help: "The id of the device, which its app has made.") var device: DeviceID
    @Flag(help: "Print one JSON document.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let log = DeviceLog(try CommandLog(options).configuration)
        guard let state = try log.device(device) else { throw Self.absent(device) }
        let person = try state.person.flatMap { try log.person($0) }
        try Output.print(DeviceReport(state, person), json: json)
    }

    static func absent(_ device: DeviceID) -> CommandFailure {
        CommandFailure(
            .difference,
            "there is no device \(device); 'carillon devices list' finds one by its person or by the SHA-256 of its address"
        )
    }
}
