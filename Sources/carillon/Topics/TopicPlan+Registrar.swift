import Pipeline

extension TopicPlan {
    /// A device or a person that was deleted is found out about so long afterwards.
    private static let tombstones = 14 * day

    /// The topics of `carillon registrar`: commands, what it knows, and what became of each command.
    static func registrar(_ names: PipelineConfiguration.Topics, _ premises: Premises) -> [TopicPlan] {
        var commands = make(
            .commands, names.commands, 1, premises,
            [
                .init(
                    "cleanup.policy", "delete", .exactly, "each command is decided once, also one that another follows"),
                .init(
                    "retention.ms", 7 * day, { _ in .atLeast(day) },
                    "a week to look at them; what is not decided yet must still be there"),
                .init(
                    "message.timestamp.type", "LogAppendTime", .exactly,
                    "a command is as old as the broker says, whatever its author's clock does"),
                .init("max.message.bytes", 1_048_588, Property.Rule.atMost, "Kafka's default"),
                measured(.exactly),
            ])
        commands.fixedPartitions = "all commands have one order, and one registrar"
        var verdicts = make(
            .verdicts, names.verdicts, 1, premises,
            [
                .init("cleanup.policy", "delete", .exactly, "each record is the end of one command"),
                .init("retention.ms", "\(day)", .initial, "a day to ask what became of a command"),
            ])
        verdicts.fixedPartitions = "they are in the order of the commands"
        var erasures = state(.erasures, names.erasures, premises, "the newest record of a key says when it was erased")
        erasures.fixedPartitions = "there are few"
        return [
            commands,
            state(.devices, names.devices, premises, "the newest record of a key is the device"),
            state(.people, names.people, premises, "the newest record of a key is the person"),
            erasures,
            verdicts,
        ]
    }

    /// A topic that the registrar folds again where its table is gone.
    private static func state(
        _ role: Role, _ name: String, _ premises: Premises, _ reason: String
    ) -> TopicPlan {
        // One registrar writes it, and each partition is a request and a marker more in its transactions.
        make(
            role, name, 1, premises,
            [
                .init("cleanup.policy", "compact", .exactly, reason),
                .init(
                    "delete.retention.ms", tombstones, { _ in .atLeast(7 * day) },
                    "a stored table older than half of it may have missed what was deleted"),
                forgetting(day),
            ])
    }
}
