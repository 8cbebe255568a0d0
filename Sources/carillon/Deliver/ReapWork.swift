import Sender

/// The work of `carillon deliver reap`: the plan, the confirmation, the commands, and the reports.
struct ReapWork {
    let reaper: Reaper
    let options: ConfirmOptions
    let isJSON: Bool
    let isStopped: () -> Bool

    /// Shows of which devices the registrar would be told.
    func plan() throws -> ReapPlan {
        let lines = ReplayProgress()
        defer { lines.clear() }
        let plan = try reaper.plan(until: isStopped) { lines.show("records", $0, $1) }
        lines.clear()
        try Output.print(plan, json: isJSON)
        return plan
    }

    func perform() throws {
        let plan = try plan()
        let approval = try approval(of: plan)
        let report = try reaper.perform(plan, approval, until: isStopped)
        try Output.print(report, json: isJSON)
        guard report.held.isEmpty else {
            // What was told now is not in the next plan.
            let left = plan.devices(.everything) - report.devices
            throw CommandFailure(
                .configuration,
                "too many devices of \(report.held.joined(separator: ", ")) are dead, and all of them stay: look at "
                    + "its answers, then confirm the number with --confirm \(left)")
        }
    }

    private func approval(of plan: ReapPlan) throws -> ReapApproval {
        let count = plan.devices(.everything)
        if count == 0, plan.held.isEmpty, options.confirm == nil { return .withinLimit }
        try options.confirmation(of: .delete, isStopped: isStopped).judge(count, of: "devices")
        return options.yes ? .withinLimit : .everything
    }
}
