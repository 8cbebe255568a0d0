import Foundation
import Pipeline
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
            tell: { Terminal.complain("carillon: \($0)\n") })
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
        let text = RedriveText(plan: plan, resume: resume, id: id)
        if isJSON { return Terminal.write(try JSONOutput.text(text.document)) }
        plan.input.tell()
        Terminal.write(text.text)
    }

    private func finish(_ cursor: RedriveCursor, isNew: Bool) throws {
        if isJSON { return Terminal.write(try JSONOutput.text(RedriveOutcome(id: id, cursor))) }
        let refused = cursor.refused > 0 ? "; \(Self.count(cursor.refused)) were rejected by the broker" : ""
        let numbers = "\(Self.count(cursor.sent)) of \(Self.count(cursor.devices)) devices"
        if cursor.devices == 0 { return Terminal.write("There is nothing to send.\n") }
        Terminal.write(
            isNew
                ? "Sent to \(numbers)\(refused), by \(id).\n"
                : "Re-drive \(id) was finished before: sent to \(numbers)\(refused). Nothing was sent now.\n")
        for reason in RedriveOmission.allCases {
            guard let count = cursor.leftOut[reason], count > 0 else { continue }
            Terminal.write("left out when their turn came: \(Self.count(count)) \(reason.sentence)\n")
        }
        if cursor.dropped > 0 {
            Terminal.write(
                "left out after an interruption: \(Self.count(cursor.dropped)) that a new plan no longer has\n")
        }
    }

    private var resumingLine: String { ResumingLine.make(newID: options.id == nil ? id : nil) }

    private static func count(_ number: Int) -> String { ProgressLine.grouped(number) }
}

/// The result of a re-drive, as JSON.
struct RedriveOutcome: Encodable {
    var id: String
    var devices: Int
    var sent: Int
    var refused: Int
    /// By reason, the planned pushes that were left out when their turn came.
    var leftOut: [String: Int]
    /// Confirmed pushes that are missing from the plan of the resumed run.
    var dropped: Int

    init(id: String, _ cursor: RedriveCursor) {
        self.id = id
        devices = cursor.devices
        sent = cursor.sent
        refused = cursor.refused
        leftOut = Dictionary(uniqueKeysWithValues: cursor.leftOut.map { ($0.key.rawValue, $0.value) })
        dropped = cursor.dropped
    }
}
