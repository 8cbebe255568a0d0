import Arguments
import Pipeline
import Registrar

/// `carillon devices forget`
struct DevicesForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Forget a device, and unsubscribe its address.",
        discussion: """
            Writes to topic.commands, and waits for the registrar. Every subscription of the address ends with the device. \
            Its app registers it again at its next start. Exit codes: 1 there is no such device; 75 recorded, and no \
            registrar has decided in time.
            """,
        examples: [
            ("carillon devices forget installation-0001", "A phone that nobody has any more."),
            ("carillon devices forget installation-0001 --timeout 60s --json", "From a script."),
        ])

    @Argument(help: "The id of the device, which its app has made.") var device: DeviceID
    @OptionGroup(title: "Outcome") var wait: VerdictOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        // By a condition, the registrar says whether there was one.
        let decided = try CommandLog(options).decide(.deleteDevice(device), if: .exists, wait)
        switch decided.verdict {
        case .gone: try Output.print(ForgottenDevice(device: device.text, command: decided.command), json: wait.json)
        case .created, .changed, .unchanged, .erased, .refused, .malformed:
            throw decided.failure(absent: DevicesShowCommand.absent(device))
        }
    }
}

struct ForgottenDevice: Report {
    var device: String
    /// The offset of the command.
    var command: Int64

    var rows: [Row] { [.line("forgot \(device): it and all subscriptions of its address are gone")] }
}
