import Arguments
import Foundation
import Replay

/// The events and requests to replay; each of the replay commands has these options as a group.
struct ReplayOptions: ParsableArguments {
    @Option(help: "From the first record at this time, or so long ago.", valueName: "time|-2h") var from: String?
    @Option(help: "To the last record before this time, or so long ago.", valueName: "time|-2h") var to: String?
    @Option(help: "These offsets, the second one not included; either may be left out.", valueName: "a..b")
    var offsets: String?
    @Option(help: "Only topic.events or topic.requests, by its name; both by default.", valueName: "name")
    var topic: [String] = []
    @Option(help: "Only this partition, of each topic.", valueName: "n") var partition: [Int] = []
    @Option(help: "Only this order, by its id, and requests that carry it.", valueName: "id") var order: [String] = []
    @Option(help: "Only this place, and requests to it.", valueName: "id") var place: [String] = []
    @Option(help: "Only requests with this request_id or message id.", valueName: "id") var request: [String] = []
    @Option(help: "Only this event type, such as ORDER_CREATED; of requests, app or message.", valueName: "type")
    var type: [String] = []
    @Option(help: "Only events with this status.", valueName: "status") var status: [String] = []
    @Option(
        help: "Who is notified: who was subscribed then, who is now, or who was and still is.",
        completion: .list(SubscriptionHistory.View.allCases.map(\.rawValue)))
    var subscriptions: SubscriptionHistory.View?
    @Flag(help: "Do without the journal: each record by itself; what comes out is approximate.") var noJournal: Bool

    func validate() -> [String] {
        var problems: [String] = []
        problems += Self.problems(from: from, to: to, partition: partition)
        if let offsets, Self.range(offsets) == nil {
            problems.append("--offsets \(offsets) is not allowed; it must be a range such as 1200..1300")
        }
        if offsets != nil, from != nil || to != nil { problems.append("--offsets cannot be used with --from and --to") }
        return problems
    }

    /// The problems of a selection by time and partition.
    static func problems(from: String?, to: String?, partition: [Int]) -> [String] {
        [timeProblem("--from", from), timeProblem("--to", to)].compactMap(\.self)
            + partition.filter { $0 < 0 }.map { "--partition \($0) is not allowed; it must be 0 or more" }
    }

    /// What is wrong with the value of an option that takes a time; nil if nothing is, or if it is not given.
    static func timeProblem(_ name: String, _ text: String?) -> String? {
        guard let text, GivenTime(text) == nil else { return nil }
        return "\(name) \(text) is not allowed; it must be \(GivenTime.allowed)"
    }

    /// - Parameter view: used if `--subscriptions` does not say.
    /// - Throws: if `--topic` is neither of the pipeline's, or `--type` is none that document 1 or the settings have.
    func request(
        view: SubscriptionHistory.View, now: WallTime, _ configuration: PipelineConfiguration
    ) throws(CommandFailure) -> ReplayRequest {
        var request = ReplayRequest()
        request.sources = try sources(of: configuration.topics)
        request.from = Self.time(from, now: now)
        request.to = Self.time(to, now: now)
        request.offsets = offsets.flatMap(Self.range)
        request.partitions = partition.isEmpty ? nil : Set(partition.map { Int32(clamping: $0) })
        request.filter.orders = Set(order)
        request.filter.places = Set(place)
        for text in type {
            guard let name = FilterRules.typeName(text, configuration.rules.types) else {
                throw CommandFailure(.usage, "--type \(text) is no event type")
            }
            request.filter.types.insert(name)
        }
        request.filter.statuses = Set(status)
        request.filter.requests = Set(self.request)
        request.view = subscriptions ?? view
        request.ignoresJournal = noJournal
        return request
    }

    private func sources(of topics: PipelineConfiguration.Topics) throws(CommandFailure) -> Set<SourceKind>? {
        guard !topic.isEmpty else { return nil }
        var sources: Set<SourceKind> = []
        for name in topic {
            guard let source = topics.source(of: name) else {
                let names = topics.sources.map { topics.topic(of: $0) }.joined(separator: " or ")
                throw CommandFailure(.usage, "--topic \(name) is not allowed; it must be \(names)")
            }
            sources.insert(source)
        }
        return sources
    }

    /// The time that an option says; nil if it is not given.
    static func time(_ text: String?, now: WallTime) -> WallTime? {
        text.flatMap(GivenTime.init)?.time(now: now)
    }

    /// `--max-age` in milliseconds, an hour by default; nil if the text is no duration.
    static func maxAge(_ text: String?) -> Int64? {
        guard let text else { return 3_600_000 }
        guard case .ago(let duration) = GivenTime("-\(text)") else { return nil }
        return duration.wholeMilliseconds
    }

    /// `1200..1300`, `..1300`, `1200..`.
    static func range(_ text: String) -> Range<Int64>? {
        guard let dots = text.range(of: "..") else { return nil }
        let (start, end) = (text[..<dots.lowerBound], text[dots.upperBound...])
        guard let first = start.isEmpty ? 0 : Int64(start), let last = end.isEmpty ? .max : Int64(end), 0 <= first,
            first < last
        else { return nil }
        return first..<last
    }
}

extension SubscriptionHistory.View: ExpressibleByArgument {}

/// Runs a replay for a command, with a progress line and cancellation by Ctrl-C.
struct ReplayWork {
    /// Runs `body` with a prepared session.
    static func perform<Result>(
        _ configuration: PipelineConfiguration, _ request: ReplayRequest,
        _ body: (inout ReplaySession) throws -> Result
    ) throws -> Result {
        try withContext(configuration) { context in
            var session = try ReplaySession(context, request)
            try session.prepare()
            return try body(&session)
        }
    }

    /// The first signal sets the context's `isStopped`, the second one ends the process.
    static func withContext<Result>(
        _ configuration: PipelineConfiguration, now: WallTime = WallClock.now, _ body: (ReplayContext) throws -> Result
    ) throws -> Result {
        let stop = StopFlag()
        let signals = Signals {
            stop.set()
        } again: {
            exit(ExitCode.notInTime.rawValue)
        }
        defer { signals.cancel() }
        let lines = ReplayProgress()
        defer { lines.clear() }
        return try body(
            ReplayContext(
                configuration: configuration, scratch: try Scratch(), now: now, logger: configuration.clientSink,
                isStopped: { stop.isSet }, progress: { lines.show($0.rawValue, $1, $2) }))
    }
}

/// The progress line of each stage.
final class ReplayProgress {
    private var stage: String?
    private var line = ProgressLine(unit: "")

    /// - Parameter stage: what is counted.
    func show(_ stage: String, _ count: Int, _ fraction: Double) {
        if stage != self.stage {
            clear()
            self.stage = stage
            line = ProgressLine(unit: stage)
        }
        line.show(count, fraction: fraction)
        if fraction >= 1 { clear() }
    }

    func clear() { line.clear() }
}

extension ReplayInput {
    /// What a person needs to judge the result, on standard error.
    func tell() {
        for line in approximations { Terminal.warn("approximate: \(line)") }
        for line in notes { Terminal.warn(line) }
    }

    var eventOffsets: Int64 { done.values.reduce(0) { $0 + Int64($1.count) } }
}
