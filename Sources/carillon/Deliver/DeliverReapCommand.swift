import Arguments
import Foundation
import Sender

/// `carillon deliver reap`
struct DeliverReapCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reap",
        abstract: "Tell the registrar of the devices that their provider calls dead.",
        discussion: """
            Shows a plan first, and writes a command for each device after their number is typed, or given with \
            --confirm; the registrar unsubscribes those that have not registered since. A device is dead if its provider \
            said so at least 10 minutes ago. The daemon does the same every hour, with two exceptions, which --yes leaves \
            out too. A credential waits for this command if more than 10 devices, and more than 5 % of at least 20 \
            answers of a day, are dead, or more than 10 devices in a row: an answer is an accepted push or a dead device. \
            Until something is accepted with the credential after it, evidence waits. May be interrupted at any time.
            """,
        examples: [
            ("carillon deliver reap --dry-run", "Which devices are dead, by platform, app and credential."),
            ("carillon deliver reap", "Asks for the number of devices, then tells the registrar."),
            ("carillon deliver reap --yes --json", "From a script; a credential above the limit still waits."),
            ("carillon deliver reap --confirm 312", "From a script, with the number of a --dry-run."),
        ])

    @Flag(help: "Print JSON: a line with the plan, and one with what was written.") var json: Bool
    @OptionGroup(title: "Confirmation") var confirmation: ConfirmOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checked()
        if !confirmation.dryRun, let missing = Reaper.missingSetting(of: configuration) {
            throw CommandFailure(.configuration, missing)
        }
        let stop = StopFlag()
        let signals = Signals {
            stop.set()
        } again: {
            exit(ExitCode.notInTime.rawValue)
        }
        defer { signals.cancel() }
        let work = ReapWork(
            reaper: Reaper(configuration, logger: configuration.makeLogger()), options: confirmation, isJSON: json,
            isStopped: { stop.isSet })
        if confirmation.dryRun { _ = try work.plan() } else { try work.perform() }
    }
}
