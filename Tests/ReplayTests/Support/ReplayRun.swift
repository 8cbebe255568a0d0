import Notifications
import Pipeline

@testable import Replay

/// The input of a replay of a ``ToyPipeline``, as it would be read from Kafka.
struct ReplayRun {
    let journal: JournalIndex
    let history: SubscriptionHistory

    /// - Parameter steps: instead of the toy's own.
    init(_ toy: borrowing ToyPipeline, steps: [JournalStep]? = nil) throws {
        journal = try JournalIndex(Scratch(), group: toy.configuration.groupID)
        try journal.append(steps ?? toy.journal)
        history = try SubscriptionHistory(Scratch())
        for change in toy.subscriptions {
            try ToyPipeline.withRecord(change) { try history.append($0, at: change.time) }
        }
    }

    func plan(_ toy: borrowing ToyPipeline, _ ranges: [SourcePartition: Range<Int64>]? = nil, isCut: Bool = false)
        throws
        -> ReplayInput
    {
        var all: [SourcePartition: Range<Int64>] = [:]
        for source in SourceKind.allCases {
            for (partition, log) in toy.logs(of: source).enumerated() {
                all[SourcePartition(source, Int32(partition))] = 0..<Int64(log.count)
            }
        }
        return try ReplayPlanner(journal: journal, isCut: isCut).plan(ranges ?? all)
    }

    /// Replays it from the beginning of the logs, in uneven pieces.
    func perform<Sink: ReplaySink & ~Copyable>(
        _ toy: borrowing ToyPipeline, _ input: ReplayInput, view: SubscriptionHistory.View = .asOfEvent,
        filter: FilterRules = FilterRules(), configuration: PipelineConfiguration? = nil,
        until: WallTime = .distantPast,
        piece: Int = 7, into sink: consuming Sink
    ) throws -> Sink {
        var sink = sink
        for lane in 0..<input.lanes {
            var spans = input.spans.filter { $0.lane == lane }
            for index in spans.indices { spans[index].foldFrom = 0 }
            var pass = try Reexecution(
                configuration ?? toy.configuration, spans: spans, journal: journal,
                history: try history.makeReader(view), filter: filter, until: until, sink: sink)
            let longest = (toy.logs + toy.requests).map(\.count).max() ?? 0
            for start in stride(from: 0, to: longest, by: piece) {
                for source in SourceKind.allCases {
                    let logs = toy.logs(of: source)
                    for partition in logs.indices where start < logs[partition].count {
                        let end = min(start + piece, logs[partition].count)
                        let batch = toy.batch(partition, start..<end, of: source)
                        try pass.take(batch)
                        if end == logs[partition].count {
                            try pass.reach(SourcePartition(source, Int32(partition)), Int64(end))
                        }
                    }
                }
            }
            sink = try pass.finish()
        }
        return sink
    }
}
