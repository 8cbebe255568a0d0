import Replay

/// The plan of a re-drive.
struct RedriveReport: Report {
    /// The progress of an interrupted run.
    struct Resumed: Encodable {
        var devices: Int
        var sent: Int
        var refused: Int
    }

    var id: String
    var plan: PlanReport
    var leftOut: [RedriveOmission: Int]
    var resumed: Resumed?

    init(_ plan: RedrivePlan, _ resume: RedriveResume?, id: String) {
        self.id = id
        self.plan = PlanReport(input: plan.input, plan: plan.plan)
        leftOut = plan.omitted
        resumed = resume.map {
            Resumed(devices: $0.cursor.devices, sent: $0.cursor.sent, refused: $0.cursor.refused)
        }
    }

    var rows: [Row] {
        var rows = plan.rows + leftOut.rows("left out")
        if let resumed {
            let (devices, sent) = (ProgressLine.grouped(resumed.devices), ProgressLine.grouped(resumed.sent))
            let left = ProgressLine.grouped(plan.plan.devices)
            rows.append(.line("of \(devices) devices that were confirmed, \(sent) are sent, \(left) are left"))
        }
        return rows
    }
}

/// The result of a re-drive.
struct RedriveOutcome: Report {
    var id: String
    var devices: Int
    var sent: Int
    var refused: Int
    /// By reason, the planned pushes that were left out when their turn came.
    var leftOut: [RedriveOmission: Int]
    /// Confirmed pushes that are missing from the plan of the resumed run.
    var dropped: Int
    /// Whether it was this run that ended it.
    private var isNew: Bool

    private enum CodingKeys: CodingKey { case id, devices, sent, refused, leftOut, dropped }

    init(id: String, _ cursor: RedriveCursor, isNew: Bool) {
        self.id = id
        devices = cursor.devices
        sent = cursor.sent
        refused = cursor.refused
        leftOut = cursor.leftOut
        dropped = cursor.dropped
        self.isNew = isNew
    }

    var rows: [Row] {
        if devices == 0 { return [.line("There is nothing to send.")] }
        let rejected = refused > 0 ? "; \(ProgressLine.grouped(refused)) were rejected by the broker" : ""
        let numbers = "\(ProgressLine.grouped(sent)) of \(ProgressLine.grouped(devices)) devices\(rejected)"
        var rows = [
            Row.line(
                isNew
                    ? "Sent to \(numbers), by \(id)."
                    : "Re-drive \(id) was finished before: sent to \(numbers). Nothing was sent now.")
        ]
        rows += leftOut.rows("left out when their turn came")
        if dropped > 0 {
            let count = ProgressLine.grouped(dropped)
            rows.append(.line("left out after an interruption: \(count) that a new plan no longer has"))
        }
        return rows
    }
}

extension [RedriveOmission: Int] {
    fileprivate func rows(_ title: String) -> [Row] {
        RedriveOmission.allCases.compactMap { reason in
            guard let count = self[reason], count > 0 else { return nil }
            return .line("\(title): \(ProgressLine.grouped(count)) \(reason.sentence)")
        }
    }
}
