import Deliveries
import Subscriptions
import TestSupport
import Testing

@testable import Replay

/// Lanes that send, retry and commit: the order of reading makes a check exact beside them.
private struct RunningLanes {
    struct Retry {
        var source: Int
        var platform: Platform
    }

    /// What could be read at a moment.
    struct Moment {
        var commits: [String: LaneAudit.Commits]
        var outcomes: Int
        var retries: [Int]
    }

    static let tiers = 2
    let records: [Platform]
    private(set) var outcomes: [Int] = []
    private(set) var retries: [[Retry]] = Array(repeating: [], count: tiers)
    /// By platform, which is the lane; the first are of the dispatch topic.
    private var finished: [Platform: [Set<Int>]] = [:]
    private(set) var moments: [Moment] = []

    init(_ count: Int, _ random: inout SeededGenerator) {
        records = (0..<count).map { _ in Platform.allCases.randomElement(using: &random) ?? .fcm }
        for platform in Platform.allCases {
            // Those of other lanes are finished when they are read.
            let others = Set(records.indices.filter { records[$0] != platform })
            finished[platform] = [others] + Array(repeating: [], count: Self.tiers)
        }
        note()
        while outcomes.count < count { transact(&random) }
    }

    private mutating func transact(_ random: inout SeededGenerator) {
        guard let platform = Platform.allCases.randomElement(using: &random), var done = finished[platform] else {
            return
        }
        var open = records.indices.filter { !done[0].contains($0) }.map { (stream: 0, place: $0, source: $0) }
        for (tier, retries) in retries.enumerated() {
            for (place, retry) in retries.enumerated() where !done[tier + 1].contains(place) {
                if retry.platform == platform { open.append((tier + 1, place, retry.source)) }
            }
        }
        for each in open.shuffled(using: &random).prefix(Int.random(in: 1...8, using: &random)) {
            done[each.stream].insert(each.place)
            if Bool.random(using: &random) {
                outcomes.append(each.source)
            } else {
                let tier = Int.random(in: 0..<Self.tiers, using: &random)
                retries[tier].append(Retry(source: each.source, platform: platform))
            }
        }
        for (tier, retries) in retries.enumerated() {
            for (place, retry) in retries.enumerated() where retry.platform != platform { done[tier + 1].insert(place) }
        }
        finished[platform] = done
        note()
    }

    private mutating func note() {
        var commits: [String: LaneAudit.Commits] = [:]
        for (platform, done) in finished {
            let offsets = done.map { [Int32(0): Self.offset($0)] }
            commits[platform.rawValue] = .init(dispatch: offsets[0], tiers: Array(offsets[1...]))
        }
        moments.append(Moment(commits: commits, outcomes: outcomes.count, retries: retries.map(\.count)))
    }

    private static func offset(_ finished: Set<Int>) -> LaneOffset {
        var first = 0
        while finished.contains(first) { first += 1 }
        var bits = [UInt8](repeating: 0, count: ((finished.max() ?? first) - first + 8) / 8)
        for offset in finished where offset > first { bits[(offset - first) / 8] |= 1 << UInt8((offset - first) % 8) }
        return LaneOffset(offset: Int64(first), partitions: 1, lanes: "x", isClean: false, finished: bits)
    }
}

@Suite("A check beside running lanes")
struct RunningLaneTests {
    /// - Parameters:
    ///   - before: when the committed offsets were read.
    ///   - after: when the rest was.
    private func audit(
        _ lanes: RunningLanes, _ before: RunningLanes.Moment, _ after: RunningLanes.Moment, without lost: Int? = nil
    ) throws -> LaneAuditReport {
        var audit = LaneAudit(
            topic: "notifications.dispatch", map: .standard, commits: before.commits,
            ranges: [0: 0..<Int64(lanes.records.count)], judgesBeginnings: true, mostListed: 100)
        for (place, source) in lanes.outcomes[..<after.outcomes].enumerated() where source != lost {
            audit.note(.sample(at: Int64(source)), at: Coordinates(partition: 0, offset: Int64(place)))
        }
        for (tier, count) in after.retries.enumerated() {
            for (place, retry) in lanes.retries[tier][..<count].enumerated() {
                audit.note(
                    try .sample(retry.platform), RetryNote(offset: Int64(retry.source), attempts: 1, used: 0),
                    tier: tier, at: Coordinates(partition: 0, offset: Int64(place)))
            }
        }
        for (offset, platform) in lanes.records.enumerated() {
            audit.judge(try .sample(platform), at: Coordinates(partition: 0, offset: Int64(offset)))
        }
        return audit.finish()
    }

    @Test(
        "offsets first, the rest later: no defect, however far the lanes have got in between", arguments: UInt64(1)..<9)
    func sound(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let lanes = RunningLanes(60, &random)
        for _ in 0..<40 {
            let first = Int.random(in: lanes.moments.indices, using: &random)
            let second = Int.random(in: first..<lanes.moments.count, using: &random)
            let report = try audit(lanes, lanes.moments[first], lanes.moments[second])
            #expect(report.isSound, "seed \(seed), \(first) then \(second): \(report.defects)")
        }
    }

    @Test("an outcome that is not there is found once its record was finished, and no sooner", arguments: UInt64(1)..<9)
    func lost(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let lanes = RunningLanes(60, &random)
        for (place, source) in lanes.outcomes.enumerated() {
            let ended = try #require(lanes.moments.firstIndex { $0.outcomes > place })
            let report = try audit(lanes, lanes.moments[ended], lanes.moments[ended], without: source)
            #expect(report.defects.map(\.place.offset) == [Int64(source)], "seed \(seed)")
            let sooner = try audit(
                lanes, lanes.moments[ended - 1], lanes.moments[lanes.moments.count - 1], without: source)
            #expect(sooner.isSound, "seed \(seed)")
        }
    }

    @Test("the other order of reading would report what a lane is just doing", arguments: UInt64(1)..<9)
    func wrongOrder(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let lanes = RunningLanes(60, &random)
        let middle = lanes.moments.count / 2
        #expect(try !audit(lanes, lanes.moments[lanes.moments.count - 1], lanes.moments[middle]).isSound)
    }
}
