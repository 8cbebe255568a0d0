/// The queries to the log that decide what is replayed.
extension ReplaySession {
    /// The group's committed part of ranges, if it matters.
    func committed(_ asked: [SourcePartition: Range<Int64>]) -> [SourcePartition: Range<Int64>] {
        guard let committed = request.committed else { return asked }
        return asked.reduce(into: [:]) { ranges, each in
            let end = max(each.value.lowerBound, committed[each.key] ?? each.value.lowerBound)
            ranges[each.key] = each.value.clamped(to: each.value.lowerBound..<end)
        }
    }

    mutating func noteUncommitted(_ asked: [SourcePartition: Range<Int64>]) {
        guard let committed = request.committed else { return }
        let group = configuration.groupID
        for (partition, range) in asked.sorted(by: { $0.key < $1.key }) where !range.isEmpty {
            guard let end = committed[partition] else {
                input.notes.append(
                    "\(partition.name): group \(group) has committed nothing, so nothing is selected")
                continue
            }
            if end < range.upperBound {
                input.notes.append(
                    "\(partition.name): group \(group) has not committed the offsets from \(end) on; it sends what "
                        + "they give itself")
            }
        }
    }

    /// The ranges to replay for them.
    func reach(_ selected: [SourcePartition: Range<Int64>]) -> [SourcePartition: Range<Int64>] {
        guard let committed = request.committed else { return selected }
        return selected.reduce(into: [:]) { ranges, each in
            let (start, end) = (each.value.lowerBound, each.value.upperBound)
            ranges[each.key] = start..<(each.value.isEmpty ? end : max(end, committed[each.key] ?? end))
        }
    }

    mutating func asked(in bounds: [SourcePartition: Range<Int64>]) throws -> [SourcePartition: Range<Int64>] {
        if let missing = request.partitions?.first(where: { number in !bounds.keys.contains { $0.number == number } }) {
            let counts = sources.map { "\(configuration.topics.topic(of: $0)) has \(bounds.numbers(of: $0).count)" }
            throw ReplayRefusal("there is no partition \(missing): \(counts.joined(separator: ", "))")
        }
        let chosen = bounds.filter { request.partitions?.contains($0.key.number) ?? true }
        var ranges = chosen
        if let offsets = request.offsets {
            ranges = chosen.mapValues { $0.clamped(to: offsets) }
        }
        for source in sources {
            let found = try log.range(
                of: configuration.topics.topic(of: source), in: ranges.numbers(of: source), from: request.from,
                to: request.to)
            ranges.merge(found.keyed(by: source)) { $1 }
        }
        return ranges
    }

    /// - Returns: whether the first records of the journal have expired.
    mutating func readJournal() throws -> Bool {
        guard !request.ignoresJournal else { return true }
        let topic = configuration.topics.journal
        // What is committed is in the journal, but maybe after the marker of a transaction that is not yet visible.
        let bounds =
            try request.committed == nil ? log.bounds(of: topic) : log.settledBounds(of: topic, timeout: settling)
        journalRead = bounds
        // A request has no past: its transaction came after it.
        if request.sources == [.requests], let from = request.from {
            journalRead = try log.range(of: topic, in: bounds, from: from - Self.mostAhead - Self.skew)
        }
        let parser = JournalParser(topics: configuration.topics)
        try log.read(journalRead, of: topic) { records, indices in
            for at in indices {
                let coordinates = Coordinates(partition: records[at].partition, offset: records[at].offset)
                let steps: [JournalStep]
                do throws(JournalProblem) {
                    steps = try parser.read(records[at].value, at: coordinates)
                } catch {
                    journal.note(error, at: coordinates)
                    continue
                }
                try journal.append(steps)
            }
        } progress: {
            context.progress(.journal, $0, $1)
        }
        return bounds.values.contains { $0.lowerBound > 0 }
    }

    mutating func findFoldStarts(of source: SourceKind, _ bounds: [Int32: Range<Int64>]) throws {
        for lane in 0..<input.lanes {
            var firsts: [Int32: Int64] = [:]
            for span in input.spans where span.lane == lane && span.partition.source == source {
                firsts[span.partition.number] = span.foldFrom
            }
            guard !firsts.isEmpty else { continue }
            let starts = try log.foldStarts(of: source, firsts, bounds: bounds)
            for index in input.spans.indices where input.spans[index].lane == lane {
                let partition = input.spans[index].partition
                guard partition.source == source, let start = starts[partition.number] else { continue }
                input.spans[index].foldFrom = start.offset
                if !start.isWhole {
                    let (reach, known) =
                        switch source {
                        case .orders: ("two times state.horizon", "orders")
                        case .requests: ("24 h", "requests")
                        }
                    input.approximations.append(
                        "\(partition.name): the log no longer has \(reach) before "
                            + "the range, so what was known of \(known) may have been more")
                }
            }
        }
    }

    mutating func readSubscriptions() throws {
        let topic = configuration.topics.subscriptions
        let bounds = try log.bounds(of: topic)
        let settings = try log.settings(of: topic)
        let isCompacted = settings["cleanup.policy"]?.contains("compact") ?? true
        let lag = settings["min.compaction.lag.ms"].flatMap { Int64($0) }
        let youngFrom = isCompacted ? context.now - (lag ?? 0) + Self.skew : .distantPast
        var state = SubscriptionLog(bounds: bounds, youngFrom: youngFrom)
        try log.read(bounds, of: topic) { records, indices in
            for at in indices {
                let record = records[at]
                state.note(partition: record.partition, offset: record.offset, timestamp: record.timestamp)
                try subscriptions.append(
                    SubscriptionRecord(of: records, at: at, partitions: bounds.count), at: record.timestamp ?? .epoch)
            }
        } progress: {
            context.progress(.subscriptions, $0, $1)
        }
        state.finish(bounds: bounds)
        guard request.view.dependsOnTablePosition else { return }
        for survey in input.surveys.values where survey.steps > survey.withoutTable {
            if let problem = state.problem(at: survey.oldestTable, topic: topic, lag: lag) {
                throw ReplayRefusal(problem + "; --subscriptions now takes them as they are")
            }
        }
    }

    /// How the settings of the transactions differ from the present ones.
    mutating func noteOrigins() {
        for (hash, steps) in input.stepsByRules.sorted(by: { $0.key < $1.key }) where hash != configuration.rulesHash {
            input.notes.append(
                "\(steps) transactions were written under other rules (\(hash), these are \(configuration.rulesHash))")
        }
        guard let cluster = log.clusterID() else { return }
        for (id, steps) in input.stepsByCluster.sorted(by: { $0.key < $1.key }) where id != cluster {
            input.notes.append(
                "\(steps) transactions were done in another cluster (\(id), this is \(cluster)): offsets may mean other "
                    + "events here")
        }
    }
}
