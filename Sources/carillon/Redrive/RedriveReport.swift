import Replay

/// The plan of a re-drive.
struct RedriveReport: Report {
    /// What the run has sent before it was interrupted.
    struct Resumed: Encodable {
        var devices: Int
        var sent: Int
    }

    var id: String
    var plan: PlanReport
    var leftOut: [RedriveOmission: Int]
    var resumed: Resumed?

    init(_ plan: RedrivePlan, id: String) {
        self.id = id
        self.plan = PlanReport(input: plan.input, plan: plan.plan)
        leftOut = plan.omitted
        if plan.done > 0 { resumed = Resumed(devices: plan.done + plan.remaining, sent: plan.done) }
    }

    var rows: [Row] {
        var rows = plan.rows + leftOut.rows("left out")
        if let resumed {
            let (devices, sent) = (ProgressLine.grouped(resumed.devices), ProgressLine.grouped(resumed.sent))
            let left = ProgressLine.grouped(plan.plan.devices)
            rows.append(.line("of \(devices) devices, \(id) has sent to \(sent), and \(left) are left"))
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
    /// Whether it was this run that ended it.
    private var isNew: Bool

    private enum CodingKeys: CodingKey { case id, devices, sent, refused, leftOut }

    init(id: String, _ devices: Int, _ tally: ResendTally<RedriveList.Entry, RedriveOmission>, isNew: Bool) {
        self.id = id
        self.devices = devices
        sent = tally.sent
        refused = tally.refused
        leftOut = tally.leftOut
        self.isNew = isNew
    }

    var rows: [Row] {
        if devices == 0 { return [.line("There is nothing to send.")] }
        let rejected = refused > 0 ? "; \(ProgressLine.grouped(refused)) were rejected by the broker" : ""
        let numbers = "\(ProgressLine.grouped(sent)) of \(ProgressLine.grouped(devices)) devices\(rejected)"
        let end =
            isNew
            ? "Sent to \(numbers), by \(id)."
            : "Re-drive \(id) was finished before: sent to \(numbers). Nothing was sent now."
        return [.line(end)] + leftOut.rows("left out when their turn came")
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
