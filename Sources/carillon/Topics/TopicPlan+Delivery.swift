import Pipeline

extension TopicPlan {
    /// The topics of `carillon deliver`: outcomes, and pushes that wait for another attempt.
    static func delivery(
        _ names: PipelineConfiguration.Topics, _ retryTopics: [String], _ premises: Premises
    ) -> [TopicPlan] {
        let retention = premises.dispatchRetention
        var retentions = [retention]
        if premises.broadcastRetryTopics != nil { retentions.append(premises.broadcastDispatchRetention) }
        let longest = retentions.contains(-1) ? -1 : retentions.max() ?? -1
        let outcomes = make(
            .deliveries, names.deliveries, premises,
            [
                .init("cleanup.policy", "delete", .exactly, "each record is the end of one push"),
                .init(
                    "retention.ms", longest == -1 ? -1 : max(30 * day, longest), { _ in .atLeast(longest) },
                    "30 days to look at them; a push of \(names.dispatch) without an outcome counts as a defect"),
            ], partitionsOf: names.dispatch)
        return [outcomes]
            + retryTopics.map { waiting(.retry, $0, of: names.dispatch, retention, names, premises) }
            + (premises.broadcastRetryTopics ?? []).map {
                waiting(
                    .broadcastRetry, $0, of: names.broadcastDispatch, premises.broadcastDispatchRetention, names,
                    premises)
            }
    }

    /// What phones say of pushes.
    static func receipts(_ names: PipelineConfiguration.Topics, _ premises: Premises) -> TopicPlan {
        make(
            .receipts, names.receipts, premises.partitions, premises,
            [
                .init("cleanup.policy", "delete", .exactly, "each record is a phone's word of one push"),
                .init("retention.ms", "\(30 * day)", .initial, "30 days to look at them, as at the outcomes"),
            ])
    }

    /// What is cancelled and paused.
    static func control(_ names: PipelineConfiguration.Topics, _ premises: Premises) -> TopicPlan {
        // Nothing in it holds longer than 28 days; clocks may differ by a day.
        let longest = 29 * day
        var plan = make(
            .control, names.control, 1, premises,
            [
                .init("cleanup.policy", "compact,delete", .exactly, "the newest record of a key counts"),
                .init(
                    "retention.ms", 35 * day, { _ in .atLeast(longest) },
                    "a request that is cancelled may live for 28 days"),
                .init(
                    "delete.retention.ms", 35 * day, { _ in .atLeast(longest) },
                    "a process that was away must still find what was resumed"),
                .init(
                    "message.timestamp.type", "LogAppendTime", .exactly,
                    "a cancel and a pause hold for 28 days from when the broker appended them"),
                measured(.advised),
            ])
        plan.fixedPartitions = "its records are taken in their order"
        return plan
    }

    /// A topic of pushes that wait for another attempt.
    /// - Parameter retention: that of `dispatch`, the topic that they were written to.
    private static func waiting(
        _ role: Role, _ name: String, of dispatch: String, _ retention: Int64, _ names: PipelineConfiguration.Topics,
        _ premises: Premises
    ) -> TopicPlan {
        make(
            role, name, premises,
            [
                .init("cleanup.policy", "delete", .exactly, "what waits is sent once, and nothing replaces it"),
                .init(
                    "retention.ms", retention, Property.Rule.atLeast,
                    "as long as \(dispatch): what waits is nowhere else"),
                .init(
                    "message.timestamp.type", "LogAppendTime", .exactly,
                    "a push is due when the topic's delay has passed since the broker appended it"),
            ], partitionsOf: names.dispatch)
    }

    /// A topic that has the partitions of the dispatch topic.
    static func make(
        _ role: Role, _ name: String, _ premises: Premises, _ properties: [Property], partitionsOf dispatch: String
    ) -> TopicPlan {
        var plan = make(role, name, premises.dispatchPartitions ?? premises.partitions, premises, properties)
        plan.fixedPartitions = "those of \(dispatch), because a record stays in the partition of its number"
        return plan
    }
}
