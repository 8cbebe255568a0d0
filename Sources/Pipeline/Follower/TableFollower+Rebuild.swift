import KafkaClient

extension TableFollower {
    /// Closes the workers' gate: the table cannot be used, and is read again as soon as the broker answers.
    mutating func mustRebuild(_ reason: String) {
        guard rebuildReason == nil else { return }
        rebuildReason = reason
        context.gate.close()
        forgetLag()
        logger.notice("the subscriptions table is rebuilt: \(reason)")
        noteGate()
    }

    /// Empties the table and begins at the topic's first offsets. Its contents stay until these are known. If the process
    /// dies later, the next start wipes the incomplete table (``TablePosition/isWhole``) and begins again.
    mutating func rebuild() throws {
        waiting.removeAll()
        if let retriesAt, context.now < retriesAt { return try serveControl(timeout: .milliseconds(20)) }
        let began = context.now
        let starts: [Int64]
        do {
            starts = try ask(for: { consumer, partitions throws(KafkaError) in
                try consumer.startOffsets(partitions, timeout: .seconds(2))
            })
            context.host.health.topicAnswers()
        } catch {
            retriesAt = context.now + backoff.next()
            return try unanswered(error, "the subscriptions' first offsets are not known")
        }
        do {
            try table.restart(at: starts, time: context.clock.now(began))
        } catch {
            return try storeRefused(error)
        }
        storeAccepted()
        position = table.position
        context.meter.setUnreadableSubscriptions(position.unreadable)
        freshness.restarted(at: began)
        ends = nil
        writes = nil
        rebuildReason = nil
        try replaceConsumer()
    }

    /// Continues at the same position with a new client. The records of the old one keep it alive: they are released first.
    mutating func replaceConsumer() throws {
        records.removeAll()
        read = Self.readable(topic, at: position.offsets, context, logger)
        consumer = try Self.makeConsumer(read, of: topic.name, context, logger)
    }

    mutating func serveControl(timeout: Duration) throws {
        var patience = timeout
        while let event = consumer.nextEvent(timeout: patience) {
            patience = .zero
            switch event {
            case .error(let error): try consider(error)
            case .assign, .revoke, .statistics: continue
            }
        }
    }

    mutating func consider(_ error: KafkaError) throws {
        if error.kind == .offsetOutOfRange {
            return mustRebuild(
                "\(topic.name) no longer has the next offset: it was cut, or deleted and created again (\(error))")
        }
        if error.isFatal { throw PipelineError.defect("the subscriptions' reader failed: \(error)") }
        if let line = try context.host.consider(error) { logger.warning("\(line); waiting") }
        if error.kind == .authorization, context.patience.isStarting { refusal = error }
    }
}
