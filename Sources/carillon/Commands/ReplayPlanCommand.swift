import Arguments
import Foundation
import Pipeline
import Replay

/// `carillon replay plan`
struct ReplayPlanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show what events give: how many pushes of what kind and when, and why others give none.",
        examples: [
            ("carillon replay plan --from -2h", "The last two hours."),
            ("carillon replay plan --place 42 --from -1d --json", "A place's day, as JSON."),
        ])

    @OptionGroup(title: "Selection") var selection: ReplayOptions
    @Flag(help: "Print JSON.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] { selection.validate() + options.validate() }

    func run() async throws {
        let configuration = try options.checked(needsBroker: selection.source.isEmpty)
        let request = selection.request(view: .both, now: Int64(Date().timeIntervalSince1970 * 1_000))
        let (input, plan) =
            if let subscriptions = selection.subscriptionsFile {
                try ReplayWork.perform(
                    configuration, request, files: selection.source, subscriptions: subscriptions
                ) { try Self.plan(&$0) }
            } else {
                try ReplayWork.perform(configuration, request) { try Self.plan(&$0) }
            }
        let text = PlanText(input: input, plan: plan)
        if json { return Terminal.write(try JSONOutput.text(text.document)) }
        input.tell()
        Terminal.write(text.text)
    }

    private static func plan(
        _ source: inout some ReplaySource & ~Copyable
    ) throws -> (ReplayInput, ReplayPlan) {
        let plan = try source.run(into: PlanSink()).plan
        return (source.input, plan)
    }
}
