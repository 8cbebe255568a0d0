import Arguments
import Foundation
import Replay

/// `carillon replay redrive`
struct ReplayRedriveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive",
        abstract: "Send the pushes of past events that nobody was sent. Notifies people.",
        discussion: """
            Shows a plan first, and sends it after the number of its devices is typed, or given with --confirm. \
            Of each order only the latest notification is sent, and nothing that was already dispatched; with --undelivered \
            only what was dispatched, and then refused or given up. More than 10,000 devices need --most. After an interruption, resume with the same options and \
            the same --id.
            """,
        examples: [
            ("carillon replay redrive --from -1h --dry-run", "What would be sent, and what is left out."),
            (
                "carillon replay redrive --from -1h --i-understand-this-notifies-people",
                "Asks for the number of devices, then sends."
            ),
            (
                "carillon replay redrive --from -1h --i-understand-this-notifies-people --confirm 312",
                "From a script, with the number of a --dry-run."
            ),
            (
                "carillon replay redrive --from -1h --undelivered --dry-run",
                "What the providers refused, or was given up, and has not expired."
            ),
        ])

    @OptionGroup(title: "Selection") var selection: ReplayOptions
    @OptionGroup(title: "Re-drive") var redrive: RedriveOptions
    @Flag(help: "Print JSON: a line with the plan, and one with what was sent.") var json: Bool
    @OptionGroup(title: "Confirmation") var confirmation: ResendOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] {
        selection.noJournal ? ["--no-journal cannot be re-driven: what comes out is approximate"] : []
    }

    func run() async throws {
        let configuration = try options.checked()
        let now = WallClock.now
        let id = ChosenID(redrive.id, now: now)
        var request = RedriveRequest()
        request.replay = try selection.request(view: .both, now: now, configuration)
        request.maxAge = redrive.maxAgeMilliseconds ?? 0
        request.choice = redrive.choice
        (request.id, request.isNewID) = (id.text, id.isNew)
        try ReplayWork.withContext(configuration, now: now) { context in
            let work = ResendWork<RedriveSession, RedriveReport, RedriveOutcome>(
                context: context, id: id, rate: redrive.rate ?? RedriveOptions.defaultRate,
                confirmation: confirmation.confirmation(of: .resend, isStopped: context.isStopped), isJSON: json,
                name: "Re-drive", unit: "devices", deed: "sent", targets: [configuration.topics.dispatch]
            ) { plan in
                if !json { plan.input.tell() }
                return RedriveReport(plan, id: id.text)
            } outcome: {
                RedriveOutcome(id: id.text, $0, $1, isNew: $2)
            }
            try work.run(isDry: confirmation.plan.dryRun) { try RedriveSession(context, request) }
        }
    }
}
