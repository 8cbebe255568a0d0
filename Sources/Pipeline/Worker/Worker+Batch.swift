extension Worker {
    /// Extracts the batch and emits it, in as many transactions as its output needs.
    mutating func process() throws {
        var next = 0
        while next < intake.batch.records.count {
            // Its clock bounds the times of the records.
            try begin()
            let extracted = core.extract(&intake.batch, from: next)
            while next < extracted {
                try begin()
                if transaction.isolation.isActive { try applyTreatment(of: next) }
                let emitted = try emit(next..<(transaction.isolation.isActive ? next + 1 : extracted))
                try advance(over: next..<emitted)
                next = emitted
                try context.reach(.afterProduce, worker: slot.number)
                guard next < extracted || transaction.isolation.isActive else { continue }
                try commit()
                if next < extracted, core.takesBackBoundedTimes() { break }
            }
        }
    }

    private mutating func emit(_ records: Range<Int>) throws -> Int {
        output.source = intake.source
        let configuration = context.configuration
        let open = transaction.open
        return try core.emit(
            intake.batch, records, limit: transaction.outlasts.records(most: configuration.commitMaxRecords),
            isTimeUp: { open?.isOld(configuration) ?? false },
            into: &output)
    }

    private mutating func advance(over records: Range<Int>) throws {
        let source = intake.source
        var oldest = WallTime.distantFuture
        var dated = 0
        for index in records {
            let record = intake.batch.records[index]
            assignment.positions[source].advance(over: record, latest: core.orders.latestTime)
            guard let timestamp = record.timestamp else { continue }
            oldest = min(oldest, timestamp)
            dated += 1
        }
        try transaction.wrote(events: records.count, dated: dated, oldest: oldest)
    }

    /// Prepares an event that runs alone because its batch was refused (docs/kafka.md 20), or took too long (ADR 55).
    private mutating func applyTreatment(of record: Int) throws {
        let place = intake.batch.records[record]
        let event = EventCoordinates(intake.batch.partition(of: place), offset: place.offset)
        let isolation = transaction.isolation
        let treatment = isolation.treatment(of: event)
        output.truncatesDeadLetters = treatment.isTruncated
        let outlasts = transaction.outlasts.isCondemned(event)
        if outlasts || treatment.isDeadLetter, !core.isDeadLetter(record: record) {
            core.deadLetter(
                record: record,
                outlasts
                    ? .eventOutlasts(context.configuration.transactionTimeout)
                    : .eventRefused(isolation.lastError ?? ""))
        }
        try transaction.isolates(event, isDeadLetter: core.isDeadLetter(record: record))
    }
}
