import KafkaClient

extension PipelineConfiguration {
    /// The settings of a consumer that belongs to a group.
    ///
    /// - Parameter queues: how many data queues it has. Each has the client's limits for itself, so each gets its part.
    package func consumerSettings(queues: Int) -> Settings {
        var settings = kafka
        settings["session.timeout.ms"] = String(sessionTimeout.wholeMilliseconds)
        // The lag comes with the statistics.
        if settings["statistics.interval.ms"] == nil { settings["statistics.interval.ms"] = "5000" }
        for limit in ["queued.min.messages", "queued.max.messages.kbytes"] where queues > 1 {
            let whole = (settings[limit] ?? ClientSettings.consumerDefaults[limit]).flatMap(Int.init)
            settings[limit] = whole.map { String(max(1, $0 / queues)) }
        }
        return settings
    }

    /// A thread that is in one call of a transaction for longer hangs.
    package var longestCall: Duration { transactionTimeout * 2 + .seconds(20) }

    /// The settings of a transactional producer.
    package var transactionSettings: Settings {
        let timeout = transactionTimeout.wholeMilliseconds
        var settings = kafka
        settings["transaction.timeout.ms"] = String(timeout)
        // librdkafka wants it no longer than the transaction's.
        if settings["socket.timeout.ms"] == nil { settings["socket.timeout.ms"] = String(min(10_000, timeout)) }
        return settings
    }
}
