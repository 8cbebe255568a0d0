extension TableFollower {
    /// Whether the table is read from its topic's beginning: until everything is stored, it is empty to all others.
    var isFilling: Bool { !table.isWhole }

    /// Whether nothing may be read now: what was read waits for the disk, or the topic's end was reached and all of it is
    /// being stored.
    var mustStore: Bool { waiting.isFull(isFilling: isFilling) || isFilling && position.isWhole }

    /// Stores what was read, if it is time to.
    ///
    /// - Parameter isQuiet: whether less was read than could have been.
    mutating func storeIfDue(isQuiet: Bool) throws {
        if isFilling ? mustStore : waiting.isDue(isQuiet: isQuiet) { try store() }
    }

    /// Stores what was read, or a part of it. While the disk is full it keeps the changes and retries; the workers' gate
    /// closes meanwhile.
    mutating func store() throws {
        if let retriesAt, context.now < retriesAt { return }
        try context.reach(.beforeTableCommit)
        position.time = context.clock.now(freshness.asOf)
        do {
            let change = try storeNext()
            storeAccepted()
            guard let change else { return }
            waiting.isDirty = false
            storedAt = context.now
            report(change)
        } catch {
            return try storeRefused(error)
        }
        try context.reach(.afterTableCommit)
    }

    /// - Returns: what has changed; nil if more must be stored before the table has its position.
    private mutating func storeNext() throws(SubscriptionTableError) -> SubscriptionTableChange? {
        if position.isWhole, waiting.fill.isEmpty { return try table.apply(&waiting.changes, position) }
        guard waiting.changes.count == 0 else {
            try waiting.fill.layAside(&waiting.changes)
            return nil
        }
        return try table.store(&waiting.fill, position)
    }

    /// The store took the changes.
    mutating func storeAccepted() {
        retriesAt = nil
        backoff.reset()
    }

    /// The store did not take the changes. Where there is no space, the write is retried later.
    mutating func storeRefused(_ error: SubscriptionTableError) throws {
        guard error.recovery == .retry else {
            throw PipelineError.defect("the subscriptions table cannot be written: \(error)")
        }
        if context.patience.isDue("table") { logger.error("the subscriptions table cannot be written: \(error)") }
        retriesAt = context.now + backoff.next()
    }

    private func report(_ change: SubscriptionTableChange) {
        if let example = change.misplacedExample {
            context.meter.count { $0.misplacedSubscriptions += change.misplaced }
            if context.patience.isDue("misplaced") {
                logger.warning(
                    "subscriptions without effect: they are not in the partition that murmur2 of their whole key gives; "
                        + "correct their producer, then run: carillon subscriptions mend",
                    [
                        "records": "\(change.misplaced)", "partition": "\(topic.name)/\(example.partition)",
                        "offset": "\(example.offset)", "key_sha256": example.keyHash,
                    ])
            }
        }
        guard change.malformed > 0 else { return }
        context.meter.count { $0.malformedSubscriptions += change.malformed }
        for example in change.examples {
            logger.warning(
                "a malformed subscription is skipped: \(example.problems.joined(separator: "; "))",
                [
                    "partition": "\(topic.name)/\(example.partition)", "offset": "\(example.offset)",
                    "key_sha256": example.keyHash,
                ])
        }
    }
}
