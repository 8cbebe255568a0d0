import Hosting
import JSONReader
import KafkaClient
import Notifications
import Pipeline
import StateStore
import Synchronization

/// Fills a view of devices and people with what the registrar has written, and of subscriptions, whoever wrote them, and
/// tells of verdicts. One thread.
package final class DeviceFollower: Sendable {
    private let configuration: PipelineConfiguration
    private let view: DeviceView
    private let logger: Logger
    private let metrics: Metrics
    /// Of the thread that follows; its table is the view's.
    private nonisolated(unsafe) var fold: RegistrarFold?

    /// - Parameter configuration: with `topic.commands`.
    package init(_ configuration: PipelineConfiguration, _ view: DeviceView, logger: Logger, metrics: Metrics) {
        (self.configuration, self.view, self.logger, self.metrics) = (configuration, view, logger, metrics)
    }

    private var topics: PipelineConfiguration.Topics { configuration.topics }
    private var folded: [String] { topics.foldedByRegistrar }

    /// Follows the topics until the host drains or stops. A table that cannot be used is filled again.
    ///
    /// - Parameters:
    ///   - began: called before the topics are read from another place than where they were left.
    ///   - verdict: gets each verdict from then on, with the offset of its command.
    ///   - looked: called several times a second, after what has arrived was taken.
    /// - Throws: ``PipelineError`` where a person has to act.
    package func run(
        on host: RoleHost, began: () -> Void, verdict: (Int64, Verdict) -> Void, looked: () -> Void
    ) throws {
        let folder = try StateFolder(
            path: configuration.stateDirectory + "/devices", inside: configuration.stateDirectory)
        defer { try? close() }
        let patience = Patience()
        do {
            while !host.mustEnd {
                do {
                    let bounds = try bounds(host, patience)
                    try open(folder.path, bounds, now: host.clock.now())
                    began()
                    try follow(bounds, host, patience, verdict, looked)
                    try close()
                } catch let error as StoreError {
                    try? close()
                    try consider(error, folder.path, host)
                }
            }
        } catch is PipelineEnded {}
        withExtendedLifetime(folder.lock) {}
    }

    private func consider(_ error: StoreError, _ folder: String, _ host: RoleHost) throws {
        switch error.recovery {
        case .stop: throw PipelineError.defect("the table of devices cannot be used: \(error)")
        case .wipe:
            logger.error("the table of devices: \(error): it is filled again")
            try? DiskStore.wipe(folder)
        case .retry: logger.error("the table of devices: \(error); tried again")
        }
        host.time.sleep(.seconds(5))
    }

    /// What the topics have: of those that are folded, and the ends of the verdicts.
    private struct Bounds {
        var log: FoldedLog
        var starts: [TopicPartition: Offset]
        var ends: [TopicPartition: Offset]
        var verdicts: [TopicPartition: Offset]
    }

    private func bounds(_ host: RoleHost, _ patience: Patience) throws -> Bounds {
        let log = try FoldedLog.ask(host, configuration, folded, with: [topics.verdicts], patience, logger: logger)
        return try host.untilItWorks(logger, patience) { () throws(KafkaError) in
            let consumer = try Consumer(assigning: configuration.kafka, logger: logger.clientSink)
            var partitions: [TopicPartition] = []
            for topic in folded { partitions += try consumer.partitions(of: topic, timeout: .seconds(5)) }
            return Bounds(
                log: log, starts: try consumer.startOffsets(partitions, timeout: .seconds(5)),
                ends: try consumer.endOffsets(partitions, timeout: .seconds(5)),
                verdicts: try consumer.endOffsets(
                    consumer.partitions(of: topics.verdicts, timeout: .seconds(5)), timeout: .seconds(5)))
        }
    }

    private func open(_ folder: String, _ bounds: Bounds, now: WallTime) throws(StoreError) {
        let opened = try RegistrarFold.open(
            folder, topics, by: .audience, cluster: bounds.log.cluster, starts: bounds.starts, ends: bounds.ends,
            largestAge: bounds.log.largestTableAge, now: now, isKnown: true)
        if let reason = opened.rebuilt {
            logger.notice("the table of devices is filled from the beginning: \(reason)")
        }
        fold = opened.fold
        view.replace(opened.fold.table)
    }

    private func close() throws(StoreError) {
        view.replace(nil)
        defer { fold = nil }
        try fold?.table.close()
    }

    private func follow(
        _ bounds: Bounds, _ host: RoleHost, _ patience: Patience, _ verdict: (Int64, Verdict) -> Void,
        _ looked: () -> Void
    ) throws {
        let positions = fold?.positions ?? [:]
        var terms = LogReading.Terms(
            topics: folded + [topics.verdicts],
            from: .offsets(positions.mapValues { Offset($0) }.merging(bounds.verdicts) { $1 }),
            interval: .seconds(2), readsHeaders: false)
        terms.isWaitedFor = true
        var reading = try host.untilItWorks(logger, patience) { () throws(KafkaError) in
            try LogReading(terms, configuration.kafka, host, patience, logger: logger, metrics: metrics)
        }
        var json = JSONReader()
        var nextFlush = host.time.now() + .seconds(10)
        var isSame = true
        while isSame, !host.mustEnd {
            var verdicts: [(Int64, Verdict)] = []
            var failure: StoreError?
            isSame = try reading.round { batch in
                do throws(StoreError) {
                    try view.update { _ throws(StoreError) in try fold?.take(batch) }
                } catch {
                    failure = error
                }
                for index in 0..<batch.count where batch[index].topic == topics.verdicts {
                    if let value = batch[index].value, let found = Verdict.read(Array(value), &json) {
                        verdicts.append(found)
                    }
                }
            }
            if let failure { throw failure }
            let isDue = host.time.now() >= nextFlush
            if isDue { nextFlush = host.time.now() + .seconds(10) }
            try note(reading.freshSince, flushes: isDue, host)
            for (command, found) in verdicts { verdict(command, found) }
            looked()
        }
    }

    private func note(
        _ freshSince: ContinuousClock.Instant?, flushes isDue: Bool, _ host: RoleHost
    ) throws(StoreError) {
        view.reached(freshSince)
        guard let fold else { return }
        if isDue, freshSince != nil { fold.time = host.clock.now() }
        guard isDue && fold.isFlushDue || fold.isFull else { return }
        let flush = try view.update { _ throws(StoreError) in fold.beginFlush() }
        // Whoever looks does not wait for it.
        let result = Result { () throws(StoreError) in try flush.write() }
        try view.update { _ throws(StoreError) in try fold.end(flush, result) }
    }
}
