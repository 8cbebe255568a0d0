import Deliveries
import Subscriptions

/// Whether each dispatch record that its lane has finished has one outcome, or waits in a retry topic.
///
/// A pure value, which takes first the outcomes, then the retry records, then the dispatch records. Memory: two bits for
/// each offset of the range, and the defects that are listed.
package struct LaneAudit: ~Copyable {
    /// What a lane has committed, by partition; a topic's partition without a commit is missing.
    package struct Commits: Equatable, Sendable {
        package var dispatch: [Int32: LaneOffset]
        /// In the order of the delays.
        package var tiers: [[Int32: LaneOffset]]

        package init(dispatch: [Int32: LaneOffset], tiers: [[Int32: LaneOffset]]) {
            self.dispatch = dispatch
            self.tiers = tiers
        }

        /// The lane has committed nothing.
        var isEmpty: Bool { dispatch.isEmpty && tiers.allSatisfy(\.isEmpty) }
    }

    private struct Share: Hashable {
        var lane: String
        var partition: Int32
    }

    private let topic: String
    private let map: LaneMap
    private let commits: [String: Commits]
    private let judgesBeginnings: Bool
    private let mostListed: Int
    private var ended: OffsetBits
    private var waiting: OffsetBits
    /// The first record of which a trace of the lane was seen.
    private var first: [Share: Int64] = [:]
    private var report = LaneAuditReport()

    /// - Parameters:
    ///   - topic: the dispatch topic.
    ///   - ranges: by partition, its records that will be judged.
    ///   - judgesBeginnings: whether to judge records from before the first one of a partition of which the lane has
    ///     left a trace: it may have been started there.
    ///   - mostListed: the defects to list; all are counted.
    package init(
        topic: String, map: LaneMap, commits: [String: Commits], ranges: [Int32: Range<Int64>], judgesBeginnings: Bool,
        mostListed: Int
    ) {
        self.topic = topic
        self.map = map
        self.commits = commits
        self.judgesBeginnings = judgesBeginnings
        self.mostListed = mostListed
        ended = OffsetBits(ranges)
        waiting = OffsetBits(ranges)
        for lane in map.lanes { report.lanes[lane] = .init() }
    }

    /// Takes an outcome.
    package mutating func note(_ outcome: DeliveryRecord, at place: Coordinates) {
        guard outcome.topic == topic else { return }
        let source = Coordinates(partition: outcome.partition, offset: outcome.offset)
        trace(outcome.lane, source)
        guard ended.insert(source) == false else { return }
        add(.init(.repeated, source, lane: outcome.lane, messageID: outcome.messageID, again: place))
    }

    /// Takes a record of a retry topic.
    ///
    /// - Parameters:
    ///   - tier: the place of its delay in the settings.
    ///   - place: its own; the dispatch record is in the partition of the same number.
    package mutating func note(_ target: DispatchTarget, _ note: RetryNote, tier: Int, at place: Coordinates) {
        let lane = lane(of: target)
        let source = Coordinates(partition: place.partition, offset: note.offset)
        trace(lane, source)
        guard let tiers = commits[lane]?.tiers, tiers.indices.contains(tier) else { return }
        // A tier without a commit is one of which the lane has finished nothing.
        if tiers[tier][place.partition]?.isFinished(place.offset) != true { waiting.insert(source) }
    }

    /// Judges a dispatch record.
    package mutating func judge(_ target: DispatchTarget, at place: Coordinates) {
        let lane = lane(of: target)
        var counts = report.lanes[lane] ?? .init()
        defer { report.lanes[lane] = counts }
        guard let commit = commits[lane]?.dispatch[place.partition], commit.isFinished(place.offset) else {
            counts.unfinished += 1
            return
        }
        if ended.contains(place) {
            counts.ended += 1
        } else if waiting.contains(place) {
            counts.waiting += 1
        } else if !judgesBeginnings, place.offset < first[Share(lane: lane, partition: place.partition)] ?? .max {
            counts.before += 1
        } else {
            counts.lost += 1
            add(.init(.lost, place, lane: lane, messageID: target.messageID))
        }
    }

    /// Counts a dispatch record that belongs to no lane.
    package mutating func noteForeign() { report.foreign += 1 }

    package consuming func finish() -> LaneAuditReport { report }

    private func lane(of target: DispatchTarget) -> String {
        map.lane(target.platform, app: target.app, target.environment)
    }

    private mutating func trace(_ lane: String, _ source: Coordinates) {
        let share = Share(lane: lane, partition: source.partition)
        first[share] = min(first[share] ?? .max, source.offset)
    }

    private mutating func add(_ defect: LaneAuditReport.Defect) {
        switch defect.kind {
        case .lost: report.lost += 1
        case .repeated: report.repeated += 1
        }
        if report.defects.count < mostListed { report.defects.append(defect) }
    }
}

/// What an audit of the lanes has found.
package struct LaneAuditReport: Equatable, Sendable {
    /// The raw value is the one in JSON.
    package enum Kind: String, CaseIterable, Sendable {
        /// Finished by its lane, with neither an outcome nor a retry that waits.
        case lost
        /// With two outcomes.
        case repeated
    }

    package struct Defect: Equatable, Sendable {
        package var kind: Kind
        /// Of the dispatch record.
        package var place: Coordinates
        package var lane: String
        package var messageID: String
        /// Of the second outcome.
        package var again: Coordinates?

        package init(_ kind: Kind, _ place: Coordinates, lane: String, messageID: String, again: Coordinates? = nil) {
            self.kind = kind
            self.place = place
            self.lane = lane
            self.messageID = messageID
            self.again = again
        }
    }

    /// The records of a lane in the range.
    package struct Counts: Equatable, Sendable {
        /// With an outcome.
        package var ended = 0
        /// In a retry topic.
        package var waiting = 0
        /// Not finished by the lane.
        package var unfinished = 0
        /// From before the lane's first trace in their partition.
        package var before = 0
        package var lost = 0

        package init() {}
    }

    /// The dispatch topic.
    package var topic = ""
    package var lanes: [String: Counts] = [:]
    package var lost = 0
    package var repeated = 0
    /// The first of them.
    package var defects: [Defect] = []
    /// Dispatch records that belong to no lane.
    package var foreign = 0
    /// Records of the topic of outcomes that are none.
    package var unreadableOutcomes = 0
    /// Records of the retry topics that are none.
    package var unreadableRetries = 0
    /// Partitions whose first outcomes are no longer kept: their dispatch records are judged from this time on, in
    /// milliseconds since 1970.
    package var judgedFrom: [Int32: Int64] = [:]
    /// Lanes that have committed nothing.
    package var idle: [String] = []

    package var isSound: Bool { lost == 0 && repeated == 0 }
}
