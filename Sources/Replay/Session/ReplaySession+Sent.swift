/// The pushes that were sent, beside the replay.
extension ReplaySession {
    /// Reads the dispatch topic, and compares the replay with it.
    ///
    /// - Throws: ``ReplayRefusal`` if another group has written to it for the same events.
    package mutating func diff(against topic: String) throws -> (report: DiffReport, foreign: Int) {
        try input.checkIsAlone(in: topic)
        let index = try readDispatch(topic)
        let refusals = try readRefusals()
        let unequal = try UnequalRecords(context.scratch)
        var sink = try run(into: DiffSink(index, unequal: unequal, refusals: refusals))
        var report = try sink.finish(
            input.done, laterTimers: try laterTimers(), hasTimers: request.filter.isEmpty)
        report.redrives = index.redriven
        try compare(unequal, topic, &report)
        return (report, index.foreign)
    }

    /// Explains each event and timer, names the positions of its records in the dispatch topic, and says what became of
    /// them at their providers.
    package mutating func explain(_ subject: Explanation.Subject) throws -> [Explanation] {
        let topic = configuration.topics.dispatch
        let others = input.groupsSharing(topic)
        if !others.isEmpty {
            input.notes.append(
                "\(others.joined(separator: ", ")) wrote to \(topic) for the same events: the records there may be theirs"
            )
        }
        let index = try readDispatch(topic)
        let refusals = try readRefusals()
        let history = try subscriptions.makeReader(request.view)
        var explanations = try run(
            into: ExplainSink(subject, configuration, index: index, refusals: refusals, history: history)
        ).finish()
        try addOutcomes(to: &explanations)
        try addReceipts(to: &explanations)
        return explanations
    }

    /// The records of the dispatch topic whose events are in the range.
    ///
    /// - Parameter sent: receives all of them, whatever their source.
    mutating func readDispatch(_ topic: String, sent: SentPushes? = nil) throws -> DispatchIndex {
        let index = try DispatchIndex(context.scratch, topics: configuration.topics, sent: sent)
        let (bounds, dispatched) = try written(to: topic)
        if bounds.values.contains(where: { $0.lowerBound > 0 }) {
            input.notes.append("\(topic) no longer has its first records; what they were counts as not there")
        }
        let ranges = input.ranges
        var pushes = DispatchTopic()
        try log.read(dispatched, of: topic) { records, indices in
            for at in indices {
                try pushes.withRecord(of: records, at: at) { try index.append($0, at: $1, within: ranges) }
            }
        } progress: {
            context.progress(.dispatch, $0, $1)
        }
        return index
    }

    /// What the broker rejected of the range; only the dead letters show it.
    private mutating func readRefusals() throws -> Refusals {
        let topic = configuration.topics.deadLetters
        var refusals = Refusals(topics: configuration.topics)
        try log.read(try written(to: topic).range, of: topic) { records, indices in
            for at in indices {
                let record = records[at]
                refusals.note(
                    key: record.key, headers: records.headers[record.headers].map { EventHeader($0) },
                    at: Coordinates(partition: record.partition, offset: record.offset))
            }
        } progress: {
            context.progress(.deadLetters, $0, $1)
        }
        return refusals
    }

    /// The bounds of a topic that the pipeline writes to, with everything written to it so far, and the part
    /// of it that can hold the output of the range of events.
    mutating func written(
        to topic: String
    ) throws -> (bounds: [Int32: Range<Int64>], range: [Int32: Range<Int64>]) {
        let bounds = try log.settledBounds(of: topic, timeout: settling)
        // The output of an event is written after it, by a clock that its timestamp may be ahead of.
        let from = request.from.map { $0 - Self.mostAhead - Self.skew }
        return (bounds, try log.range(of: topic, in: bounds, from: from))
    }

    /// Compares the output of its own rules, which is "there", with that of others.
    package mutating func diff(with other: PipelineConfiguration) throws -> DiffReport {
        let index = try DispatchIndex(context.scratch, topics: configuration.topics)
        _ = try run(into: IndexSink(index))
        let unequal = try UnequalRecords(context.scratch)
        var sink = try run(into: DiffSink(index, unequal: unequal), with: other)
        return try sink.finish(input.done)
    }

    private mutating func compare(_ unequal: UnequalRecords, _ topic: String, _ report: inout DiffReport) throws {
        guard !unequal.ranges.isEmpty else { return }
        let ranges = unequal.ranges.mapValues { $0.lowerBound..<$0.upperBound + 1 }
        var found = report
        var pushes = DispatchTopic()
        try log.read(ranges, of: topic) { records, indices in
            for at in indices {
                try pushes.withRecord(of: records, at: at) { try unequal.compare(RenderedRecord($0), at: $1, &found) }
            }
        } progress: {
            context.progress(.compared, $0, $1)
        }
        report = found
    }

    /// The offsets at which timers have fired since the journal was read.
    private mutating func laterTimers() throws -> Set<EventCoordinates> {
        let topic = configuration.topics.journal
        let bounds = try log.settledBounds(of: topic, timeout: settling)
        var ranges: [Int32: Range<Int64>] = [:]
        for (partition, range) in bounds {
            let from = min(journalRead[partition]?.upperBound ?? range.lowerBound, range.upperBound)
            ranges[partition] = max(from, range.lowerBound)..<range.upperBound
        }
        let parser = JournalParser(topics: configuration.topics)
        var found: Set<EventCoordinates> = []
        try log.read(ranges, of: topic) { records, indices in
            for at in indices {
                let coordinates = Coordinates(partition: records[at].partition, offset: records[at].offset)
                guard let steps = try? parser.read(records[at].value, at: coordinates) else { continue }
                for step in steps where step.hasTick && step.group == journal.group {
                    found.insert(EventCoordinates(step.partition, offset: step.to))
                }
            }
        }
        return found
    }
}
