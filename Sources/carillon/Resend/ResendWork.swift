import Replay

/// The work of a command that sends again: the plan, the confirmation, the sending, and the reports.
struct ResendWork<Session: ResendSession & ~Copyable, Plan: Report, Outcome: Report> {
    typealias Tally = ResendTally<Session.Item, Session.Omission>

    let context: ReplayContext
    let id: ChosenID
    /// Records per second.
    let rate: Int
    let confirmation: Confirmation
    let isJSON: Bool
    /// For a person: what it is called, what it counts, and what becomes of that.
    let name: String
    let unit: String
    let deed: String
    /// The topics that it writes to.
    let targets: [String]
    let report: (Session.Plan) -> Plan
    /// Of what was confirmed; and whether it was this process that ended the run.
    let outcome: (Int, Tally, Bool) -> Outcome

    /// Shows what would be sent, or sends it once it is confirmed.
    func run(isDry: Bool, _ make: () throws -> Session) throws {
        if isDry {
            var session = try make()
            return try show(try session.plan())
        }
        Terminal.complain("\(name) \(id.text). If interrupted, resume with:\n  \(resumingLine)\n")
        var producer = try ResendProducer(id: id.text, to: targets, context, tell: Terminal.tell)
        try producer.takeOver()
        var session = try make()
        let plan = try session.plan()
        var tally = Tally(sent: plan.done)
        let count = plan.done + plan.remaining
        if plan.remaining == 0, plan.done > 0 { return try finish(count, tally, isNew: false) }
        try show(plan)
        guard count > 0 else { return try finish(0, tally, isNew: true) }
        try confirmation.judge(count, of: unit, isResumed: plan.done > 0)
        try send(count, &tally, &session, &producer)
        try finish(count, tally, isNew: true)
    }

    private func show(_ plan: Session.Plan) throws { try Output.print(report(plan), json: isJSON) }

    private func finish(_ count: Int, _ tally: Tally, isNew: Bool) throws {
        try Output.print(outcome(count, tally, isNew), json: isJSON)
    }

    private func send(
        _ count: Int, _ tally: inout Tally, _ session: inout Session, _ producer: inout ResendProducer
    ) throws {
        var line = ProgressLine(unit: unit)
        defer { line.clear() }
        let before = tally.settled
        do {
            let (pace, clock) = (Pace(perSecond: rate), { WallClock.now })
            try session.send(&tally, with: &producer, pace: pace, clock: clock) { now in
                let settled = now.settled - before
                line.show(settled, fraction: Double(settled) / Double(max(1, count - before)))
            }
        } catch {
            line.clear()
            let sent = "\(ProgressLine.grouped(tally.sent)) of \(ProgressLine.grouped(count)) \(unit) were \(deed)"
            if error is ReplayStopped {
                throw CommandFailure(.notInTime, "stopped; \(sent). Resume with:", resumingLine)
            }
            var failure = CommandFailure(error)
            failure.lines.append("\(sent) until then")
            if !(error is ResendTakenOver) { failure.lines += ["Resume with:", resumingLine] }
            throw failure
        }
    }

    private var resumingLine: String { ResumingLine.make(newID: id.isNew ? id.text : nil) }
}

/// The id of a run: the given one, or a new one.
struct ChosenID {
    let text: String
    let isNew: Bool

    init(_ given: String?, now: WallTime) {
        isNew = given == nil
        text = given ?? ResendID(time: now.iso8601, random: .random(in: 0 ... .max)).text
    }
}
