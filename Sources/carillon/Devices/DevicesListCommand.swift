import Arguments
import Pipeline
import Registrar

extension AddressHash: ExpressibleByArgument {
    package static var expected: String { "the 64 hex digits that 'devices show' shows" }
    package var argumentText: String { hex }

    package init?(argument: String) { self.init(hex: argument.lowercased()) }
}

/// `carillon devices list`
struct DevicesListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the devices of people, or those that have or had an address.",
        discussion: "Reads topic.devices from its beginning. A device is listed if any of the options names it.",
        examples: [
            ("carillon devices list --person 17", "Where somebody is logged in."),
            (
                "carillon devices list --address-sha256 "
                    + "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 --json",
                "Whose address this is and was, by the key of its pushes, as JSON lines."
            ),
        ])

    @Option(help: "The devices on which this person is logged in.", valueName: "id")
    var person: [PersonID] = []
    @Option(
        name: [.customLong("address-sha256")],
        help: "The devices that have this address, or had it last.", valueName: "hex")
    var addressSHA256: [AddressHash] = []
    @Flag(help: "Print JSON lines.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] {
        person.isEmpty && addressSHA256.isEmpty ? ["nothing to list: give --person or --address-sha256"] : []
    }

    func run() async throws {
        let (people, hashes) = (Set(person.map(\.text)), Set(addressSHA256))
        let found = try DeviceLog(try CommandLog(options).configuration).devices { state in
            let isOf = state.person.map { people.contains($0) } ?? false
            return isOf || state.address.hash.map { hashes.contains($0) } ?? false
        }
        try Output.print(
            lines: found.map { DeviceReport($0) }, json: json, footer: ProgressLine.counted(found.count, "device"))
    }
}
