import KafkaClient
import Notifications

/// One run of the reaper on its log: a plan, its nulls, and their verification. Reads no clock.
///
/// The judgement is made before the nulls are in the log, so somebody may subscribe or unsubscribe in between. The
/// verification reads what came between and writes it again, as often as needed; until then the group's metadata says
/// from where, and whoever takes over begins with it.
package struct ReapRun<Log: ReapLog> {
    private let log: Log
    private let group: String
    /// Called before each step; true ends the run.
    private let isStopped: () -> Bool

    package init(_ log: Log, group: String, until stop: @escaping () -> Bool = { false }) {
        self.log = log
        self.group = group
        isStopped = stop
    }

    /// Finds out what would be deleted now. Writes nothing.
    package func plan(now: WallTime, age: Int64 = DeadEvidence.age, limit: Int = DeadEvidence.mostDevices) throws
        -> ReapPlan
    {
        let base = ReapPositions(try log.committed())
        var evidence = DeadEvidence(now: now, age: age, limit: limit, confirmed: base.confirmed)
        try checkStop()
        let ends = try log.readDeliveries(from: base.next, since: now - DeadEvidence.window) {
            evidence.note($0, partition: $1, offset: $2, isJudged: $3)
        }
        var plan = ReapPlan(base: base, evidence: evidence, live: LiveVersions(), time: now, ends: ends)
        guard !evidence.devices.isEmpty else { return plan }
        try checkStop()
        var live = LiveVersions()
        plan.judged = try log.readSubscriptions(from: nil, .devices(evidence.isDead)) { live.note($0) }
        plan.live = live
        return plan
    }

    /// Deletes what a plan has found, and verifies it. Whatever it throws, it may be called again with the same plan.
    ///
    /// - Throws: ``ReaperTakenOver`` if another reaper came in between.
    package func perform(_ plan: ReapPlan, _ approval: ReapApproval) throws -> ReapReport {
        var plan = plan
        var report = ReapReport()
        report.hasMore = plan.hasMore
        switch approval {
        case .withinLimit: report.held = plan.held.sorted()
        case .everything: break
        }
        var target = plan.positions(approval)
        let isIdle = plan.dead(approval).isEmpty && target == plan.base
        if isIdle { return report }
        do {
            try checkStop()
            try log.takeOver()
            var base = ReapPositions(try log.committed())
            if !base.unverified.isEmpty { report.restored += try verify(&base) }
            var dead = plan.dead(approval)
            report.note(dead)
            if base != ReapPositions(next: plan.base.next, held: plan.base.held, confirmed: plan.base.confirmed) {
                // Committed by an earlier call, which did not hear of it.
                if base == target { return report }
                throw ReaperTakenOver(group: group)
            }
            try checkStop()
            try refresh(&plan)
            dead = plan.dead(approval)
            report.note(dead)
            for each in dead {
                let partition = each.version.partition
                target.unverified[partition] = plan.judged[partition] ?? each.version.offset
            }
            try log.commit(dead.map(\.tombstone), target.committed)
            if !target.unverified.isEmpty { report.restored += try verify(&target) }
        } catch let error as KafkaError where error.kind == .fenced {
            throw ReaperTakenOver(group: group)
        }
        return report
    }

    /// Reads what was written since the plan was made: a person may have taken long to confirm it.
    private func refresh(_ plan: inout ReapPlan) throws {
        guard !plan.judged.isEmpty else { return }
        let evidence = plan.evidence
        var live = plan.live
        plan.judged = try log.readSubscriptions(from: plan.judged, .devices(evidence.isDead)) { live.note($0) }
        plan.live = live
    }

    /// Writes again what the nulls have overwritten, until there is none, and commits that they are verified.
    ///
    /// - Returns: how many records that were.
    private func verify(_ positions: inout ReapPositions) throws -> Int {
        var restored = 0
        while true {
            try checkStop()
            try log.settleSubscriptions()
            var keys: Set<[UInt8]> = []
            _ = try log.readSubscriptions(from: positions.unverified, .marked) { record in
                if let key = record.key { keys.insert(key) }
            }
            var restorations = Restorations()
            if !keys.isEmpty {
                _ = try log.readSubscriptions(from: positions.unverified, .keys(keys)) { restorations.note($0) }
            }
            let records = restorations.records
            if records.isEmpty { break }
            try log.commit(records, positions.committed)
            restored += records.count
        }
        positions.unverified = [:]
        try log.commit([], positions.committed)
        return restored
    }

    private func checkStop() throws {
        if isStopped() { throw ReaperStopped() }
    }
}
