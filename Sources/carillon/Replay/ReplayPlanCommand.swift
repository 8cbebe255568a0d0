import Arguments
import Replay

/// `carillon replay plan`
struct ReplayPlanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show what events produce: how many pushes of which kind and when, and why others produce none.",
        examples: [
            ("carillon replay plan --from -2h", "The last two hours."),
            ("carillon replay plan --place 42 --from -1d --json", "A place's day, as JSON."),
        ])

    @OptionGroup(title: "Selection") var selection: ReplayOptions
    @Flag(help: "Print JSON.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checked()
        let request = try selection.request(view: .both, now: WallClock.now, configuration)
        var report = try ReplayWork.perform(configuration, request) { session in
            let sink = try session.run(into: UnerasedSink(PlanSink(), try session.suppressionList()))
            return PlanReport(input: session.input, plan: sink.base.plan, erased: sink.leftOut)
        }
        report.broadcasts = try BroadcastTally.read(configuration, request)
        if !json { report.input.tell() }
        try Output.print(report, json: json)
    }
}
