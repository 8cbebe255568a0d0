import Foundation
import Synchronization
import Telemetry

/// Grouped dispatch records in, one record for each device out, exactly once: byte for byte what
/// ``DispatchGrouping/device`` writes, for a sender that knows only that.
///
/// `run()` has the shape of ServiceLifecycle's `Service`: cancelling its task stops at once and leaves an open transaction
/// to time out; ``shutdown()`` commits what is open. Call `run()` once.
public final class ExpansionService: Sendable {
    private let context: ExpansionContext
    private let logger: Logger

    /// - Parameters:
    ///   - configuration: the broker, the transactions' limits, and ``PipelineConfiguration/from`` for a first start.
    ///   - logger: with the host's own sink.
    ///   - metrics: the host's registry.
    public init(
        configuration: PipelineConfiguration, _ settings: ExpansionSettings,
        logger: Logger = Logger(label: "carillon"), metrics: Metrics = Metrics()
    ) {
        context = ExpansionContext(configuration, settings, ExpansionMeter(metrics))
        self.logger = logger
        metrics.observe("carillon_ready", help: "1 while the topic is read, else 0.") { [context] in
            [.init(value: .gauge(context.isReading.load(ordering: .relaxed) ? 1 : 0))]
        }
    }

    /// Why it does not read at the moment; empty if it does. Any thread.
    public var unready: [String] {
        if context.mustEnd { return ["it commits what is open, and ends"] }
        return context.isReading.load(ordering: .relaxed) ? [] : ["it has not begun to read"]
    }

    /// Commits what is open, and lets ``run()`` return. Any thread, any number of times.
    public func shutdown() { context.isDraining.store(true, ordering: .sequentiallyConsistent) }

    /// Runs until ``shutdown()``.
    ///
    /// - Throws: ``PipelineError`` where an operator has to act; `CancellationError` when its task is cancelled.
    public func run() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                Thread.start("carillon") { continuation.resume(with: Result { try self.supervise() }) }
            }
            try Task.checkCancellation()
        } onCancel: {
            context.isStopping.store(true, ordering: .sequentiallyConsistent)
        }
    }

    private func supervise() throws {
        if let problem = context.settings.problem(context.configuration.topics) {
            throw PipelineError.decisionNeeded(problem)
        }
        let crew = Crew()
        crew.start("expansion") { [context, logger] in
            var worker = try ExpansionWorker(context, logger: logger)
            do {
                try worker.run()
            } catch {
                worker.close()
                throw error
            }
            worker.close()
        }
        var deadline: ContinuousClock.Instant?
        while !crew.isEmpty {
            crew.wait(seconds: 0.2)
            if context.mustEnd, deadline == nil { deadline = .now + context.configuration.shutdownTimeout }
            if let deadline, .now > deadline {
                context.isStopping.store(true, ordering: .sequentiallyConsistent)
                throw crew.failure
                    ?? PipelineError.notDrained("not drained in time: what was open is written by the next owner")
            }
        }
        logger.info("ended: \(context.meter.reading)")
        if let failure = crew.failure { throw failure }
    }
}

/// What the worker and the service share. Any thread.
final class ExpansionContext: Sendable {
    let configuration: PipelineConfiguration
    let settings: ExpansionSettings
    let meter: ExpansionMeter
    let isReading = Atomic<Bool>(false)
    /// Commit what is open and end.
    let isDraining = Atomic<Bool>(false)
    /// End at once.
    let isStopping = Atomic<Bool>(false)

    init(_ configuration: PipelineConfiguration, _ settings: ExpansionSettings, _ meter: ExpansionMeter) {
        self.configuration = configuration
        self.settings = settings
        self.meter = meter
    }

    var mustEnd: Bool { isDraining.load(ordering: .acquiring) || isStopping.load(ordering: .acquiring) }
    var mustStop: Bool { isStopping.load(ordering: .acquiring) }
}

/// The counts of an expansion. Any thread.
final class ExpansionMeter: Sendable {
    private let metrics: Metrics
    private let totals = Mutex((records: 0, pushes: 0))

    init(_ metrics: Metrics) {
        self.metrics = metrics
    }

    /// For a person.
    var reading: String { totals.withLock { "\($0.records) records read, \($0.pushes) written" } }

    func committed(records: Int, pushes: Int) {
        count("read_records", "Records of the topic that were read, in committed transactions.", records)
        count("written_records", "Records for single devices that were written, in committed transactions.", pushes)
        totals.withLock { totals in
            totals.records += records
            totals.pushes += pushes
        }
    }

    func aborted() { count("aborts", "Transactions that were aborted.", 1) }

    private func count(_ name: String, _ help: String, _ count: Int) {
        metrics.counter("carillon_expansion_\(name)_total", help: help, labels: [:]).add(count)
    }
}
