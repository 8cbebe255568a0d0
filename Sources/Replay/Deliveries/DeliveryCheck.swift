import Deliveries
import JSONReader
import KafkaClient
import Pipeline

/// Audits the lanes of `carillon deliver` in one dispatch topic from what is in Kafka, also while they run.
///
/// The order of reading makes it exact beside running lanes. A transaction of a lane commits offsets together with the
/// outcomes and the retry records of what these finish:
///
/// 1. The committed offsets of all lanes are read first. So every record that they call finished got its outcome or its
///    retry record in a transaction that was decided by then, and a retry that a lane ends later still waits by them.
/// 2. Only then are the ends of the retry topics and of the outcomes asked for, as far as they are written, and the last
///    stable offsets awaited up to there: the markers of one transaction reach partitions at different times. All of these
///    outcomes and retries are below.
/// 3. Dispatch records are read last: the others say what is known of them. Those that no lane had finished are counted,
///    and not judged.
package struct DeliveryCheck {
    private let context: ReplayContext
    private let dispatch: String
    private let from: Int64?
    private let mostListed: Int
    /// How far the clocks within a cluster may differ.
    private static let skew: Int64 = 60_000

    private var topics: PipelineConfiguration.Topics { context.configuration.topics }

    /// - Parameters:
    ///   - dispatch: the dispatch topic.
    ///   - from: judge the records from this time on, in milliseconds since 1970; nil: all that are kept.
    ///   - mostListed: the defects to list.
    package init(_ context: ReplayContext, of dispatch: String, from: Int64?, mostListed: Int) {
        self.context = context
        self.dispatch = dispatch
        self.from = from
        self.mostListed = mostListed
    }

    /// - Throws: ``ReplayRefusal`` if a lane has committed under another map of lanes.
    package func run() throws -> LaneAuditReport {
        let configuration = context.configuration
        let delivery = configuration.delivery
        var log = try KafkaLog(context)
        let tiers = delivery.retryTopics(of: dispatch)
        var commits: [String: LaneAudit.Commits] = [:]
        for lane in delivery.lanes.lanes { commits[lane] = try self.commits(of: lane, tiers, &log) }
        let settling = configuration.transactionTimeout + .seconds(20)
        let outcomes = try log.settledBounds(of: topics.deliveries, timeout: settling)
        let retries = try tiers.map { try log.settledBounds(of: $0, timeout: settling) }
        let (ranges, judgedFrom) = try ranges(&log, outcomes, commits)
        var audit = LaneAudit(
            topic: dispatch, map: delivery.lanes, commits: commits, ranges: ranges,
            judgesBeginnings: from != nil, mostListed: mostListed)
        let unreadable = try readOutcomes(&log, outcomes, into: &audit)
        var unreadableRetries = 0
        for (tier, topic) in tiers.enumerated() {
            let starts = commits.values.map(\.tiers[tier])
            let open: [Int32: Range<Int64>] = retries[tier].reduce(into: [:]) { ranges, each in
                // What every lane has finished says nothing.
                let first = starts.map { $0[each.key]?.offset ?? 0 }.min() ?? 0
                ranges[each.key] = each.value.clamped(to: min(first, each.value.upperBound)..<each.value.upperBound)
            }
            unreadableRetries += try read(open, of: topic, as: .retries, in: log) { record, target, note in
                guard let target, let note else { return false }
                audit.note(target, note, tier: tier, at: record)
                return true
            }
        }
        _ = try read(ranges, of: dispatch, as: .dispatch, in: log) { record, target, _ in
            guard let target else {
                audit.noteForeign()
                return true
            }
            audit.judge(target, at: record)
            return true
        }
        var report = audit.finish()
        report.topic = dispatch
        report.unreadableOutcomes = unreadable
        report.unreadableRetries = unreadableRetries
        report.judgedFrom = judgedFrom
        report.idle = commits.filter { $0.value.isEmpty }.keys.sorted()
        return report
    }

    private func commits(
        of lane: String, _ tiers: [String], _ log: inout KafkaLog
    ) throws -> LaneAudit.Commits {
        let configuration = context.configuration
        let group = DeliveryConfiguration.group(of: lane, in: configuration.groupID)
        // One request for all topics: what one transaction has committed is seen whole.
        let found = try log.commits(of: [dispatch] + tiers, by: group)
        let hash = configuration.delivery.lanesHash
        var offsets: [String: [Int32: LaneOffset]] = [:]
        for (partition, committed) in found {
            let written = LaneOffset(offset: committed.offset.value, metadata: committed.metadata)
            if let other = written?.lanes, other != hash {
                throw ReplayRefusal(
                    "lane \(lane) has committed under another map of lanes (\(other), delivery.lanes is \(hash)): give its "
                        + "delivery.lanes, or check again when the new lanes have begun")
            }
            // Somebody has set it by another tool: everything below counts as finished.
            offsets[partition.topic, default: [:]][partition.partition] =
                written
                ?? LaneOffset(
                    offset: committed.offset.value, partitions: 1, lanes: hash, isClean: false, finished: [])
        }
        return LaneAudit.Commits(
            dispatch: offsets[dispatch] ?? [:], tiers: tiers.map { offsets[$0] ?? [:] })
    }

    /// The dispatch records to judge: up to what any lane has finished, and only those whose outcomes are still there.
    ///
    /// - Returns: `later` has the times of the partitions where the latter matters, in milliseconds since 1970.
    private func ranges(
        _ log: inout KafkaLog, _ outcomes: [Int32: Range<Int64>], _ commits: [String: LaneAudit.Commits]
    ) throws -> (ranges: [Int32: Range<Int64>], later: [Int32: Int64]) {
        let bounds = try log.bounds(of: dispatch)
        var ranges: [Int32: Range<Int64>] = bounds.reduce(into: [:]) { ranges, each in
            let end = commits.values.compactMap { $0.dispatch[each.key]?.end }.max() ?? 0
            ranges[each.key] = each.value.clamped(to: 0..<max(0, end))
        }
        let cut = outcomes.filter { $0.value.lowerBound > 0 }
        let left = try log.firstTimestamps(of: topics.deliveries, in: cut)
        var times: [Int32: Int64] = [:]
        var later: [Int32: Int64] = [:]
        for partition in bounds.keys {
            if let from { times[partition] = from }
            guard cut[partition] != nil else { continue }
            // An outcome is written after its dispatch record.
            let kept = left[partition].map { $0 + Self.skew } ?? context.now
            if kept > times[partition] ?? .min {
                times[partition] = kept
                later[partition] = kept
            }
        }
        for (partition, start) in try log.offsets(of: dispatch, at: times) {
            guard let range = ranges[partition] else { continue }
            ranges[partition] = min(max(start, range.lowerBound), range.upperBound)..<range.upperBound
        }
        return (ranges, later)
    }

    private func readOutcomes(
        _ log: inout KafkaLog, _ bounds: [Int32: Range<Int64>], into audit: inout LaneAudit
    ) throws -> Int {
        var ranges = bounds
        if let from {
            let starts = try log.offsets(of: topics.deliveries, at: bounds.mapValues { _ in from - Self.skew })
            for (partition, start) in starts {
                guard let range = bounds[partition] else { continue }
                ranges[partition] = min(max(start, range.lowerBound), range.upperBound)..<range.upperBound
            }
        }
        return try log.readDeliveries(ranges, of: topics.deliveries) { outcome, record in
            audit.note(outcome, at: Coordinates(partition: record.partition, offset: record.offset))
        } progress: {
            context.progress(.outcomes, $0, $1)
        }
    }

    /// Reads dispatch records, or their copies in a retry topic.
    ///
    /// - Parameter take: receives a place and what could be read; returns whether that was enough.
    /// - Returns: how many were not.
    private func read(
        _ ranges: [Int32: Range<Int64>], of topic: String, as stage: ReplayContext.Stage, in log: borrowing KafkaLog,
        _ take: (Coordinates, DispatchTarget?, RetryNote?) -> Bool
    ) throws -> Int {
        var reader = JSONReader()
        var unreadable = 0
        try log.read(ranges, of: topic) { records, indices in
            for index in indices {
                let record = records[index]
                let headers = records.headers[record.headers]
                let target = try? DispatchTarget(
                    key: record.key, value: record.value, header: { Self.value(of: $0, in: headers) }, &reader)
                let note = Self.value(of: RetryNote.header, in: headers).flatMap {
                    RetryNote(String(decoding: $0, as: UTF8.self))
                }
                let place = Coordinates(partition: record.partition, offset: record.offset)
                if !take(place, target, note) { unreadable += 1 }
            }
        } progress: {
            context.progress(stage, $0, $1)
        }
        return unreadable
    }

    private static func value(
        of name: StaticString, in headers: ArraySlice<HeaderView>
    ) -> UnsafeRawBufferPointer? {
        let name = UnsafeRawBufferPointer(name)
        return headers.first { $0.name.elementsEqual(name) }?.value
    }
}
