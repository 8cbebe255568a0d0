import Arguments
import Pipeline
import Registrar

/// `carillon people show`
struct PeopleShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show what is known of a person, and the devices.",
        discussion:
            "Reads topic.people and topic.devices. If nothing is known of the person, it says so and ends with 1.",
        examples: [
            ("carillon people show 17", "For a person."),
            ("carillon people show 17 --json", "As one JSON document."),
        ])

    @Argument(help: "The shop's own id of the person.") var person: PersonID
    @Flag(help: "Print one JSON document.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let report = try PersonReport.read(person, try CommandLog(options).configuration)
        guard report.isKnown else {
            throw CommandFailure(.difference, "nothing is known of the person \(report.person): no device, no audience")
        }
        try Output.print(report, json: json)
    }
}

/// A person with the devices, without their addresses.
struct PersonReport: Report {
    var person: String
    /// Nil where the backend has set nothing.
    var revision: Int64?
    /// What the backend has set, for each of the devices.
    var audiences: [String]
    var locale: String?
    var timeZone: String?
    var devices: [DeviceReport]

    static func read(_ id: PersonID, _ configuration: PipelineConfiguration) throws -> PersonReport {
        let log = DeviceLog(configuration)
        let state = try log.person(id.text)
        let devices = try log.devices { $0.person == id.text }
        return PersonReport(
            person: id.text.text, revision: state?.revision, audiences: state?.audiences.map(\.text) ?? [],
            locale: state?.locale?.text, timeZone: state?.timeZone?.text, devices: devices.map { DeviceReport($0) })
    }

    var isKnown: Bool { revision != nil || !devices.isEmpty }

    var rows: [Row] {
        var rows: [Row] = [
            .pair("person", person),
            .pair("audiences", audiences.isEmpty ? "none of the backend's" : audiences.joined(separator: ", ")),
        ]
        if let locale { rows.append(.pair("locale", locale)) }
        if let timeZone { rows.append(.pair("time zone", timeZone)) }
        rows.append(.pair("devices", ProgressLine.grouped(devices.count)))
        return devices.isEmpty ? rows : rows + devices.rows
    }
}
