import Arguments
import Pipeline
import Replay

/// `carillon replay plan`
struct ReplayPlanCommand: ParsableCommand, ReplayUse {
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
        let configuration = try options.checked(needsBroker: selection.source.isEmpty)
        let request = try selection.request(view: .both, now: WallClock.now, configuration.topics)
        let (input, plan) = try ReplayWork.perform(self, configuration, request, from: selection)
        var report = PlanReport(input: input, plan: plan)
        if selection.source.isEmpty { report.broadcasts = try BroadcastTally.read(configuration, request) }
        if !json { input.tell() }
        try Output.print(report, json: json)
    }

    func use(_ source: inout some ReplaySource & ~Copyable) throws -> ReplayPlan {
        try source.run(into: PlanSink()).plan
    }
}
