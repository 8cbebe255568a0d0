import Events
import FanOut
import Pipeline
import StateStore
import Subscriptions

/// A replay from files of JSON lines, as `kcat -J` prints them: each record by itself, timers when they are
/// due, the subscriptions from a file. Always approximate. One owner, one thread.
package struct FileReplay: ~Copyable, ReplaySource {
    private let context: ReplayContext
    private let request: ReplayRequest
    private let files: [String]
    private let subscriptions: SubscriptionHistory
    package private(set) var input = ReplayInput()

    /// - Parameters:
    ///   - files: `-` is standard input, which can be read only once.
    ///   - subscriptions: a file of them. Timers fire up to the clock of the context.
    package init(
        _ context: ReplayContext, _ request: ReplayRequest, files: [String], subscriptions: String
    ) throws {
        let history = SubscriptionHistory(store: try context.scratch.store("subscriptions"))
        let problems = try RenderRun.readSubscriptions(subscriptions) { record in
            try history.append(record, at: 0)
            return []
        }
        try history.flush()
        self.context = context
        self.request = request
        self.files = files
        self.subscriptions = history
        input.approximations = ["the events come from files, without a journal"]
        input.notes = problems.map { "\(subscriptions): \($0)" }
    }

    package mutating func run<Sink: ReplaySink & ~Copyable>(
        into sink: consuming Sink, with other: PipelineConfiguration?
    ) throws -> Sink {
        input.spans = []
        input.ranges = [:]
        let configuration = context.configuration
        var pass = try Reexecution(
            other ?? configuration, spans: [],
            journal: JournalIndex(store: MemoryStore(), group: configuration.groupID),
            history: try subscriptions.makeReader(.now), filter: request.filter, until: context.now, sink: sink)
        let topics = configuration.topics
        // Like the lines of `carillon render`: a record of an unknown topic is an event.
        let bareSource = request.sources?.count == 1 ? request.sources?.first ?? .orders : .orders
        var events = EventBatch(.orders, topic: topics.events)
        var requests = EventBatch(.requests, topic: topics.requests)
        var line = RecordLine()
        var number: Int64 = 0
        for file in files {
            var lines = try LineReader(path: file)
            while let text = try lines.next() {
                defer { number += 1 }
                if text.isEmpty { continue }
                if context.isStopped() { throw ReplayStopped() }
                line.read(text, bareTopic: topics.topic(of: bareSource), bareOffset: number)
                let partition = SourcePartition(topics.source(of: line.topic) ?? .orders, line.partition)
                if request.partitions?.contains(partition.number) == false { continue }
                if request.sources?.contains(partition.source) == false { continue }
                if input.ranges[partition] == nil { try begin(partition, in: &pass) }
                switch partition.source {
                case .orders:
                    line.fill(&events)
                    try pass.take(events)
                case .requests:
                    line.fill(&requests)
                    try pass.take(requests)
                }
                note(partition, line.offset)
            }
        }
        return try pass.finish()
    }

    package mutating func diff(with other: PipelineConfiguration) throws -> DiffReport {
        try compare(with: other, topics: context.configuration.topics, scratch: context.scratch)
    }

    private mutating func begin<Sink: ReplaySink & ~Copyable>(
        _ partition: SourcePartition, in pass: inout Reexecution<Sink>
    ) throws {
        let range = request.offsets ?? 0..<Int64.max
        input.ranges[partition] = range.lowerBound..<range.lowerBound
        try pass.begin(
            ReplaySpan(partition: partition, range: range, foldFrom: 0, end: .max, approximateBelow: .max))
    }

    /// The replay ends with the last record in the range.
    private mutating func note(_ partition: SourcePartition, _ offset: Int64) {
        guard let range = input.ranges[partition], request.offsets?.contains(offset) ?? true else { return }
        let end = max(range.upperBound, offset + 1)
        input.ranges[partition] = range.lowerBound..<end
        input.spans.removeAll { $0.partition == partition }
        input.spans.append(
            ReplaySpan(partition: partition, range: range, foldFrom: range.lowerBound, end: end, approximateBelow: end))
    }
}
