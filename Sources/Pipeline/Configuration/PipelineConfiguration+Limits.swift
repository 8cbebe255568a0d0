import NotificationPayload

extension PipelineConfiguration {
    /// Limits that do not fit together. All relations between settings are here.
    public func limitProblems() -> [ConfigurationProblem] {
        var problems: [ConfigurationProblem] = []

        func require(_ holds: Bool, _ key: String, _ value: Duration, _ relation: String, _ other: String) {
            guard !holds else { return }
            problems.append(
                ConfigurationProblem(
                    subject: key, message: "\(ConfigurationText.text(value)) \(relation) \(other)"))
        }
        let maxPoll =
            kafka["max.poll.interval.ms"].flatMap(Int64.init).map { Duration.milliseconds($0) }
            ?? .seconds(120)

        for (key, interval) in [
            ("commit.interval", commitInterval), ("commit.interval.behind", commitIntervalBehind),
            ("delivery.commit-interval", delivery.commitInterval),
        ] {
            require(
                interval * 4 <= transactionTimeout, key, interval,
                "must be at most a quarter of", "transaction.timeout (\(ConfigurationText.text(transactionTimeout)))")
        }
        // The broker aborts what is not drained in time (exit code 75), and has to do so soon after.
        require(
            shutdownTimeout <= transactionTimeout, "shutdown.timeout", shutdownTimeout,
            "must be at most", "transaction.timeout (\(ConfigurationText.text(transactionTimeout)))")
        // docs/kafka.md 8: a revoke finishes the transaction within half of the smaller of the two.
        require(
            transactionTimeout < maxPoll, "transaction.timeout", transactionTimeout,
            "must be less than", "kafka.max.poll.interval.ms (\(ConfigurationText.text(maxPoll)))")
        require(
            sessionTimeout <= maxPoll, "session.timeout", sessionTimeout,
            "must be at most", "kafka.max.poll.interval.ms (\(ConfigurationText.text(maxPoll)))")
        require(
            orders.terminalRetention <= orders.horizon, "state.terminal-retention", orders.terminalRetention,
            "must be at most", "state.horizon (\(ConfigurationText.text(orders.horizon)))")
        if let devices = chosenMaxDevices, devices > mostDevicesPerEvent {
            problems.append(
                ConfigurationProblem(
                    subject: "fan-out.max-devices",
                    message: "\(devices) must be at most \(mostDevicesPerEvent): 10,000 for each second of "
                        + "transaction.timeout (\(ConfigurationText.text(transactionTimeout)))"))
        }
        problems += timerProblems()
        problems += topicProblems()
        problems += deliveryProblems()
        return problems
    }

    /// A timer knows only what an order's state remembers.
    private func timerProblems() -> [ConfigurationProblem] {
        guard orders.schedule != nil else { return [] }
        return EventType.allCases.filter(\.isSentByTimers).flatMap { type in
            rules.audiences.textsBesidePlace(of: .known(type)).map { text in
                ConfigurationProblem(
                    subject: "audiences.\(type.rawValue.dropFirst("event_".count))",
                    message:
                        "'\(text)' names a member that a timer does not know; allowed is {place_id}, or schedule=off")
            }
        }
    }

    /// Of two credentials of the same app only the first would ever send.
    private func deliveryProblems() -> [ConfigurationProblem] {
        guard !delivery.credentials.isEmpty else { return [] }
        do {
            _ = try delivery.credentialMap()
            return []
        } catch {
            return [ConfigurationProblem(subject: "delivery.credentials", message: error.description)]
        }
    }

    /// 10,000 for each second of ``transactionTimeout``, a tenth of what a broker takes: all records of an event are in
    /// one transaction, and the broker would abort one that is too slow at every attempt.
    package var mostDevicesPerEvent: Int { Int(clamping: transactionTimeout.wholeMilliseconds) * 10 }

    /// The topics whose names follow from others, where there are broadcasts.
    private var broadcastTopics: [(String, String)] {
        guard !topics.broadcasts.isEmpty else { return [] }
        return [
            ("topic.broadcasts", topics.broadcastJournal), ("topic.dispatch", topics.broadcastDispatch),
        ] + delivery.retryTopics(of: topics.broadcastDispatch).map { ("topic.dispatch", $0) }
    }

    /// Two roles on one topic would feed the pipeline its own output.
    private func topicProblems() -> [ConfigurationProblem] {
        let all =
            [
                ("topic.events", topics.events), ("topic.subscriptions", topics.subscriptions),
                ("topic.dispatch", topics.dispatch), ("topic.dead-letters", topics.deadLetters),
                ("topic.journal", topics.journal), ("topic.requests", topics.requests),
                ("topic.deliveries", topics.deliveries), ("topic.broadcasts", topics.broadcasts),
                ("topic.control", topics.control), ("topic.commands", topics.commands),
                ("topic.devices", topics.devices), ("topic.people", topics.people),
                ("topic.erasures", topics.erasures), ("topic.verdicts", topics.verdicts),
                ("topic.receipts", topics.receipts),
            ] + delivery.retryTopics(of: topics.dispatch).map { ("topic.dispatch", $0) } + broadcastTopics
        let named = all.filter { !$0.1.isEmpty }
        return named.enumerated().compactMap { index, topic in
            named[..<index].first { $0.1 == topic.1 }.map { other in
                ConfigurationProblem(subject: topic.0, message: "'\(topic.1)' is also \(other.0)")
            }
        }
    }
}
