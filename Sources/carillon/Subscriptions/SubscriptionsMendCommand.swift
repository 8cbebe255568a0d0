import Arguments
import Pipeline

/// `carillon subscriptions mend`
struct SubscriptionsMendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mend",
        abstract: "Move subscriptions from wrong partitions to those of their keys.",
        discussion: """
            A subscription has an effect only in the partition that murmur2 of its whole key gives. This shows a plan \
            first, and writes after the number of its records is typed, or given with --confirm. Of each key the newest \
            record counts, by its timestamp: a subscription is written to its partition, unless the device has \
            unsubscribed there since; then the misplaced record is ended by a null. Correct the producer first: it must \
            partition by murmur2. May be interrupted at any time, and repeated.
            """,
        examples: [
            ("carillon subscriptions mend --dry-run", "What is misplaced, and what would be written."),
            ("carillon subscriptions mend", "Asks for the number of records, then writes."),
            ("carillon subscriptions mend --yes --json", "From a script."),
        ])

    @Flag(help: "Print JSON: a line with the plan, and one with what was written.") var json: Bool
    @OptionGroup(title: "Confirmation") var confirmation: ConfirmOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    /// After this many rounds something writes to wrong partitions all the time.
    private static let mostRounds = 5

    func run() async throws {
        let configuration = try options.checked()
        let topic = SubscriptionsTopic(configuration: configuration)
        var plan = MendPlan(try topic.states())
        try Output.print(plan, json: json)
        guard !confirmation.dryRun else { return }
        if plan.misplaced > 0 || confirmation.confirm != nil {
            try confirmation.confirmation(of: .move).judge(plan.misplaced, of: "records")
        }
        var written = MendOutcome()
        var rounds = 0
        // Another record of a key may have come between the plan and its writes: it is looked for until there is none.
        while !plan.isEmpty, rounds < Self.mostRounds {
            try perform(plan, configuration)
            written.add(plan)
            plan = MendPlan(try topic.states())
            rounds += 1
        }
        if json || rounds > 0 { try Output.print(written, json: json) }
        guard plan.isEmpty else {
            throw CommandFailure(
                .difference,
                "a producer still writes to wrong partitions: correct it, then run this again (\(plan.misplaced) are left)"
            )
        }
    }

    /// First what the right partitions lack, then the nulls: if this ends in between, no subscription is lost.
    private func perform(_ plan: MendPlan, _ configuration: PipelineConfiguration) throws {
        var writer = try TopicWriter(configuration.topics.subscriptions, configuration)
        for state in plan.states { if let record = state.writes.home { try writer.write(record) } }
        try writer.finish()
        for state in plan.states { for record in state.writes.ends { try writer.write(record) } }
        try writer.finish()
    }
}
