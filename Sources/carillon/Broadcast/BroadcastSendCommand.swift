import Arguments
import Broadcasts
import Notifications
import Pipeline

/// `carillon broadcast send`
struct BroadcastSendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Send a broadcast, or replace the one with its notificationid.",
        discussion: """
            Writes document 4's object to topic.broadcasts, after the rules have accepted it. Where it has no published_at it \
            gets the present time, so that it means the same however late it is read. Before that the command shows \
            what would be sent, reads the subscriptions and asks for the number of devices. With --yes it neither counts \
            nor asks.
            """,
        examples: [
            ("carillon broadcast send maintenance.json", "Shows the plan, and asks."),
            ("carillon broadcast send maintenance.json --dry-run --json", "The plan, as JSON."),
            ("make-broadcast | carillon broadcast send - --yes --json", "From a script: no count, no question."),
        ])

    @Argument(help: "Document 4's object; - is standard input.", completion: .file)
    var file: String
    @Flag(help: "Print the outcome as JSON.") var json: Bool
    @OptionGroup(title: "Confirmation") var confirmation: ConfirmOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checkedForBroadcasts()
        let topic = configuration.topics.broadcasts
        let now = WallClock.now
        let draft = try BroadcastDraft(file: file, now: now)
        let findings = RequestFindings()
        var reader = BroadcastReader(topic: topic, settings: configuration.rendering, findings: findings)
        let broadcast: BroadcastNotification
        do throws(BroadcastDraft.Refusal) {
            broadcast = try draft.check(&reader, findings, now: now)
        } catch {
            throw CommandFailure(error)
        }
        let newest = try BroadcastLog.read(configuration).newest(broadcast.notificationID)
        var plan = BroadcastPlan(
            broadcast: broadcast, replaced: newest.flatMap { $0.end == nil ? $0 : nil },
            reach: confirmation.needsCount ? try BroadcastReach.count(broadcast, configuration, now: now) : nil,
            now: now)
        if confirmation.dryRun {
            try Output.print(plan, json: json)
            return Terminal.complain("Nothing was sent.\n")
        }
        if let reach = plan.reach {
            Terminal.complain(plan.text)
            try confirmation.confirmation(of: .send).judge(reach.count, of: "devices")
        }
        var writer = try TopicWriter(topic, configuration)
        plan.position = try writer.writeAndLocate(key: draft.key, value: draft.value)
        plan.topic = topic
        try Output.print(plan, json: json)
        try warnIfNobodySends(configuration)
    }

    private func warnIfNobodySends(_ configuration: PipelineConfiguration) throws {
        let group = try BroadcastGroup.read(configuration)
        guard group.committed.isEmpty else { return }
        Terminal.warn(
            "warning: 'carillon broadcasts' has never worked in group \(group.name): its first start skips this "
                + "broadcast, unless it is given --include-valid")
    }
}
