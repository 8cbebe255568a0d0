import Foundation
import Replay

/// The work of `carillon replay redrive`: the plan, the confirmation, the sending, and the reports.
struct RedriveWork {
    let context: ReplayContext
    let request: RedriveRequest
    let options: RedriveOptions
    let confirmation: Confirmation
    let id: String
    let isJSON: Bool

    /// Shows what would be sent.
    func plan() throws {
        var session = try RedriveSession(context, request, id: id, resuming: nil)
        try show(try session.plan(), nil)
    }

    /// Sends the confirmed pushes.
    func perform() throws {
        Terminal.complain("Re-drive \(id). If interrupted, resume with:\n  \(resumingLine)\n")
        let topics = context.configuration.topics
        var producer = try RedriveProducer(
            id: id, from: topics.sources.map { topics.topic(of: $0) }, to: topics.dispatch, context,
            tell: Terminal.tell)
        let resume = try RedriveResume(try producer.takeOver(), of: topics, id: id)
        try resume?.check(request, id: id)
        if let cursor = resume?.cursor, cursor.isDone { return try finish(cursor, isNew: false) }
        var session = try RedriveSession(context, request, id: id, resuming: resume)
        let plan = try session.plan()
        try show(plan, resume)
        if resume == nil, plan.devices == 0 { return try finish(RedriveCursor(), isNew: false) }
        let confirmed = resume?.cursor.devices ?? plan.devices
        try confirmation.judge(confirmed, of: "devices")
        try send(confirmed, resume, &session, &producer)
    }

    private func send(
        _ confirmed: Int, _ resume: RedriveResume?, _ session: inout RedriveSession, _ producer: inout RedriveProducer
    ) throws {
        var last = resume?.cursor ?? RedriveCursor()
        last.devices = confirmed
        var line = ProgressLine(unit: "devices")
        defer { line.clear() }
        let before = last.settled
        let clock = { WallClock.now }
        do {
            try session.send(
                confirmed, with: &producer,
                pace: Pace(perSecond: options.rate ?? RedriveOptions.defaultRate),
                clock: clock
            ) { cursor in
                last = cursor
                let left = max(1, confirmed - before)
                line.show(cursor.settled - before, fraction: Double(cursor.settled - before) / Double(left))
            }
        } catch is ReplayStopped {
            line.clear()
            throw CommandFailure(
                .notInTime,
                "stopped; \(Self.count(last.sent)) of \(Self.count(confirmed)) devices were sent. Resume with:",
                resumingLine)
        } catch {
            line.clear()
            var failure = CommandFailure(error)
            failure.lines.append("\(Self.count(last.sent)) of \(Self.count(confirmed)) devices were sent until then")
            if !(error is RedriveTakenOver) { failure.lines += ["Resume with:", resumingLine] }
            throw failure
        }
        line.clear()
        try finish(last, isNew: true)
    }

    // MARK: What is said

    private func show(_ plan: RedrivePlan, _ resume: RedriveResume?) throws {
        if !isJSON { plan.input.tell() }
        try Output.print(RedriveReport(plan, resume, id: id), json: isJSON)
    }

    private func finish(_ cursor: RedriveCursor, isNew: Bool) throws {
        try Output.print(RedriveOutcome(id: id, cursor, isNew: isNew), json: isJSON)
    }

    private var resumingLine: String { ResumingLine.make(newID: options.id == nil ? id : nil) }

    private static func count(_ number: Int) -> String { ProgressLine.grouped(number) }
}
