import Hosting
import JSONReader
import KafkaClient
import Notifications
import Pipeline
import StateStore
import Synchronization

/// Devices and people as the registrar has written them, and its verdicts: what other processes know of them. One thread
/// follows the topics; any thread asks.
package final class DeviceFollower: Sendable {
    private struct Known {
        var fold: RegistrarFold?
        /// When the newest ends that were reached were asked for.
        var freshSince: ContinuousClock.Instant?
    }

    private let configuration: PipelineConfiguration
    private let logger: Logger
    private let metrics: Metrics
    private let lock = Mutex(())
    /// Only with the lock.
    private nonisolated(unsafe) var known = Known()

    /// - Parameter configuration: with `topic.commands`.
    package init(_ configuration: PipelineConfiguration, logger: Logger, metrics: Metrics) {
        (self.configuration, self.logger, self.metrics) = (configuration, logger, metrics)
    }

    /// Whether everything that was there at most so long ago is known.
    package func isFresh(within age: Duration) -> Bool {
        lock.withLock { _ in known.freshSince.map { ContinuousClock.now - $0 <= age } ?? false }
    }

    /// - Returns: nil where there is none, or nothing is known.
    package func device(_ id: DeviceID) throws(StoreError) -> DeviceState? {
        try lock.withLock { _ throws(StoreError) in try known.fold?.table.device(id) }
    }

    /// - Returns: nil where there is none, or nothing is known.
    package func person(_ id: ByteText) throws(StoreError) -> PersonState? {
        try lock.withLock { _ throws(StoreError) in try known.fold?.table.person(id) }
    }

    private var topics: PipelineConfiguration.Topics { configuration.topics }
    private var folded: [String] { [topics.devices, topics.people] }

    /// Follows the topics until the host drains or stops.
    ///
    /// - Parameters:
    ///   - verdict: gets each verdict from the start on, with the offset of its command.
    ///   - looked: called several times a second, after what has arrived was taken.
    /// - Throws: ``PipelineError`` where a person has to act.
    package func run(
        on host: RoleHost, verdict: (Int64, Verdict) -> Void, looked: () -> Void
    ) throws {
        let folder = try StateFolder(
            path: configuration.stateDirectory + "/devices", inside: configuration.stateDirectory)
        defer { lock.withLock { _ in known = Known() } }
        let patience = Patience()
        var json = JSONReader()
        do {
            while !host.mustEnd {
                let log = try FoldedLog.ask(host, configuration, folded, with: [topics.verdicts], logger: logger)
                let starts = try host.untilItWorks(logger, patience) { () throws(KafkaError) in
                    try open(folder.path, log, now: host.clock.now())
                }
                let terms = LogReading.Terms(
                    topics: folded + [topics.verdicts], from: .offsets(starts), interval: .milliseconds(500),
                    readsHeaders: false)
                var reading = try host.untilItWorks(logger, patience) { () throws(KafkaError) in
                    try LogReading(terms, configuration.kafka, host, patience, logger: logger, metrics: metrics)
                }
                try follow(&reading, host, &json, verdict, looked)
                try close()
            }
        } catch is PipelineEnded {}
        withExtendedLifetime(folder.lock) {}
    }

    private func follow(
        _ reading: inout LogReading, _ host: RoleHost, _ json: inout JSONReader, _ verdict: (Int64, Verdict) -> Void,
        _ looked: () -> Void
    ) throws {
        var nextFlush = host.time.now() + .seconds(10)
        var isSame = true
        while isSame, !host.mustEnd {
            var verdicts: [(Int64, Verdict)] = []
            var failure: StoreError?
            isSame = try reading.round { batch in
                do throws(StoreError) {
                    try lock.withLock { _ throws(StoreError) in try known.fold?.take(batch) }
                } catch {
                    failure = error
                }
                for index in 0..<batch.count where batch[index].topic == topics.verdicts {
                    if let value = batch[index].value, let found = Verdict.read(Array(value), &json) {
                        verdicts.append(found)
                    }
                }
            }
            if let failure { throw PipelineError.defect("the table of devices cannot be used: \(failure)") }
            let freshSince = reading.freshSince
            let isDue = host.time.now() >= nextFlush
            if isDue { nextFlush = host.time.now() + .seconds(10) }
            try lock.withLock { _ throws(StoreError) in
                known.freshSince = freshSince
                guard isDue, let fold = known.fold else { return }
                if freshSince != nil { fold.time = host.clock.now() }
                if fold.table.pendingCount > 0 || fold.time - fold.storedTime > RegistrarFold.storesAgain {
                    try fold.flush()
                }
            }
            for (command, found) in verdicts { verdict(command, found) }
            looked()
        }
    }

    /// - Returns: where each partition is to be read from.
    private func open(
        _ folder: String, _ log: FoldedLog, now: WallTime
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        let consumer = try Consumer(assigning: configuration.kafka, logger: logger.clientSink)
        var partitions: [TopicPartition] = []
        for topic in folded { partitions += try consumer.partitions(of: topic, timeout: .seconds(5)) }
        let (starts, ends) = (
            try consumer.startOffsets(partitions, timeout: .seconds(5)),
            try consumer.endOffsets(partitions, timeout: .seconds(5))
        )
        let verdicts = try consumer.endOffsets(
            consumer.partitions(of: topics.verdicts, timeout: .seconds(5)), timeout: .seconds(5))
        let result = lock.withLock { _ in
            Result { () throws(StoreError) in
                let opened = try RegistrarFold.open(
                    folder, topics, cluster: log.cluster, starts: starts, ends: ends,
                    largestAge: log.largestTableAge, now: now, isKnown: true)
                if let reason = opened.rebuilt {
                    logger.notice("the table of devices is filled from the beginning: \(reason)")
                }
                known.fold = opened.fold
                return opened.fold.positions
            }
        }
        do throws(StoreError) {
            return try result.get().mapValues { Offset($0) }.merging(verdicts) { $1 }
        } catch {
            throw KafkaError(
                kind: .other, recovery: .retry, name: "", message: "the table of devices cannot be opened: \(error)")
        }
    }

    private func close() throws {
        try lock.withLock { _ throws(StoreError) in
            let fold = known.fold
            known = Known()
            try fold?.table.close()
        }
    }
}
