import Arguments
import Pipeline
import Registrar

/// `carillon people audiences`
struct PeopleAudiencesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audiences",
        abstract: "Say which audiences each device of a person is subscribed to.",
        discussion: """
            Those that are given replace all that the backend has set for the person, and hold for devices that come \
            later, too; what an app has asked for itself stays. Without any, those that are set are printed. Writes to \
            topic.commands, and waits for the registrar. Exit code 75: recorded, and no registrar has decided in time.
            """,
        examples: [
            ("carillon people audiences 17", "Print those that are set."),
            ("carillon people audiences 17 place/42 channel/offers", "Set them: these and no others."),
            ("carillon people audiences 17 --none", "Set none."),
        ])

    @Argument(help: "The shop's own id of the person.") var person: PersonID
    @Argument(help: "place/<id> or channel/<id>: all that are to be set.") var audiences: [String] = []
    @Flag(help: "Set none.") var none: Bool
    @OptionGroup(title: "Outcome") var wait: VerdictOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] {
        if none, !audiences.isEmpty { return ["--none and audiences exclude each other"] }
        let most = PersonState.mostAudiences
        return audiences.filter { !Self.isAllowed(ByteText($0)) }.map {
            "'\($0)' is no audience for a person; allowed are place/<id> and channel/<id>"
        }
            + (audiences.count > most ? ["there are \(audiences.count) audiences; allowed are at most \(most)"] : [])
    }

    private static func isAllowed(_ audience: ByteText) -> Bool {
        switch audience.audience {
        case .place, .channel: true
        case .user, .device, nil: false
        }
    }

    func run() async throws {
        let log = try CommandLog(options)
        guard none || !audiences.isEmpty else {
            let state = try DeviceLog(log.configuration).person(person.text)
            return try Output.print(PersonAudiences(person, state?.audiences ?? []), json: wait.json)
        }
        var change = PersonChange(person.text)
        change.audiences = audiences.map { ByteText($0) }
        let decided = try log.decide(.changePerson(change), wait)
        switch decided.verdict {
        case .created, .changed, .unchanged:
            let set = Set(audiences.map { ByteText($0) }).sorted()
            try Output.print(PersonAudiences(person, set, verdict: decided.verdict.word), json: wait.json)
        case .gone, .erased, .refused, .malformed:
            throw decided.failure(absent: CommandFailure(.difference, "there is no person \(person.argumentText)"))
        }
    }
}

/// What the backend has set for a person.
struct PersonAudiences: Report {
    var person: String
    var audiences: [String]
    /// What became of the command that has set them; nil: they were read.
    var verdict: String?

    init(_ id: PersonID, _ audiences: [ByteText], verdict: String? = nil) {
        person = id.text.text
        self.audiences = audiences.map(\.text)
        self.verdict = verdict
    }

    var rows: [Row] {
        let all = audiences.isEmpty ? "none" : audiences.joined(separator: ", ")
        return [.line("\(person): \(all)\(verdict.map { " (\($0))" } ?? "")")]
    }
}
