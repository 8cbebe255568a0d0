import Pipeline

extension TopicPlan {
    /// The topics of `carillon deliver`: outcomes, and pushes that wait for another attempt.
    static func delivery(
        _ names: PipelineConfiguration.Topics, _ retryTopics: [String], _ premises: Premises
    ) -> [TopicPlan] {
        let retention = premises.dispatchRetention
        let outcomes = make(
            .deliveries, names.deliveries, premises.dispatchPartitions ?? premises.partitions, premises,
            [
                .init("cleanup.policy", "delete", .exactly, "each record is the end of one push"),
                .init(
                    "retention.ms", retention == -1 ? -1 : max(30 * day, retention),
                    { _ in .atLeast(retention) },
                    "30 days to look at them; a push of \(names.dispatch) without an outcome counts as a defect"),
            ])
        let waiting = retryTopics.map { name in
            make(
                .retry, name, premises.dispatchPartitions ?? premises.partitions, premises,
                [
                    .init("cleanup.policy", "delete", .exactly, "what waits is sent once, and nothing replaces it"),
                    .init(
                        "retention.ms", retention, Property.Rule.atLeast,
                        "as long as \(names.dispatch): what waits is nowhere else"),
                    .init(
                        "message.timestamp.type", "LogAppendTime", .exactly,
                        "a push is due when the topic's delay has passed since the broker appended it"),
                ])
        }
        return ([outcomes] + waiting).map { plan in
            var plan = plan
            plan.partitionsOf = names.dispatch
            return plan
        }
    }
}
