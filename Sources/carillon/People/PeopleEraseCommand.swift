import Arguments
import Pipeline
import Registrar

/// `carillon people erase`
struct PeopleEraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Forget a person, with all devices and their subscriptions.",
        discussion: """
            Shows what there is and asks for the number of devices, then writes to topic.commands, and waits for the \
            registrar. What stays is a hash of the id, with the time: an app whose token is older cannot register for the \
            person any more. Exit code 75: recorded, and no registrar has decided in time.
            """,
        examples: [
            ("carillon people erase 17", "Shows what there is, and asks."),
            ("carillon people erase 17 --yes --json", "From a script."),
        ])

    @Argument(help: "The shop's own id of the person.") var person: PersonID
    @OptionGroup(title: "Confirmation") var confirmation: ConfirmOptions
    @OptionGroup(title: "Outcome") var wait: VerdictOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let log = try CommandLog(options)
        if confirmation.dryRun || confirmation.needsCount {
            let report = try PersonReport.read(person, log.configuration)
            if confirmation.dryRun {
                try Output.print(report, json: wait.json)
                return Terminal.complain("Nothing was erased.\n")
            }
            Terminal.complain(report.text)
            try confirmation.confirmation(of: .erase).judge(report.devices.count, of: "devices")
        }
        let decided = try log.decide(.erasePerson(person.text), wait)
        switch decided.verdict {
        case .erased(let devices):
            let outcome = ErasedPerson(
                person: person.argumentText, devices: devices, erasedAt: decided.time, command: decided.command)
            try Output.print(outcome, json: wait.json)
        case .created, .changed, .unchanged, .gone, .refused, .malformed:
            throw decided.failure(
                absent: CommandFailure(.difference, "there is no person \(person.argumentText)"))
        }
    }
}

struct ErasedPerson: Report {
    var person: String
    var devices: Int
    /// By the broker's clock; nil where the topic of commands does not say.
    var erasedAt: WallTime?
    /// The offset of the command.
    var command: Int64

    var rows: [Row] {
        let time = erasedAt.map { " at \($0)" } ?? ""
        return [
            .line(
                "erased \(person)\(time): \(ProgressLine.counted(devices, "device")), their subscriptions, and what the "
                    + "backend had set")
        ]
    }
}
