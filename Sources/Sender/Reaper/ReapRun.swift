import KafkaClient
import Notifications
import Registrar

/// One run of the reaper on its log: a plan, its commands, and what the group commits. Reads no clock.
///
/// It may end anywhere, and others may run beside it: a command that is repeated, or older than what the registrar knows,
/// changes nothing, and no offset is committed before the commands of what is below it are there.
package struct ReapRun<Log: ReapLog> {
    private let log: Log
    /// Called before each step; true ends the run.
    private let isStopped: () -> Bool

    package init(_ log: Log, until stop: @escaping () -> Bool = { false }) {
        self.log = log
        isStopped = stop
    }

    /// Finds out what the registrar would be told now. Writes nothing.
    package func plan(now: WallTime, age: Int64 = DeadEvidence.age, limit: Int = DeadEvidence.mostDevices) throws
        -> ReapPlan
    {
        let base = ReapPositions(try log.committed())
        var evidence = DeadEvidence(now: now, age: age, limit: limit, confirmed: base.confirmed)
        try checkStop()
        let ends = try log.readDeliveries(from: base.next, since: now - DeadEvidence.window) {
            evidence.note($0, partition: $1, offset: $2, isJudged: $3)
        }
        return ReapPlan(base: base, evidence: evidence, time: now, ends: ends)
    }

    /// Tells the registrar what a plan has found. Whatever it throws, it may be called again with the same plan.
    package func perform(_ plan: ReapPlan, _ approval: ReapApproval) throws -> ReapReport {
        var report = ReapReport(devices: plan.devices(approval), hasMore: plan.hasMore)
        switch approval {
        case .withinLimit: report.held = plan.held.sorted()
        case .everything: break
        }
        let target = plan.positions(approval)
        if report.devices == 0, target == plan.base { return report }
        try checkStop()
        try log.write(plan.dead(approval).map(\.command))
        try log.commit(target.committed)
        return report
    }

    private func checkStop() throws {
        if isStopped() { throw ReaperStopped() }
    }
}
