import Replay

extension DeliverySummaryReport: Report {
    var rows: [Row] {
        let range = "from \(from)" + (to.map { " to \($0)" } ?? "")
        guard total.count > 0 else { return [.line("\(topic) has no outcomes \(range).")] + receiptRows }
        var table = TextTable([
            "OUTCOMES", "REQUESTS", "P50", "P99", "PLATFORM", "CREDENTIAL", "OUTCOME", "STATUS", "REASON",
            "APP",
        ])
        for group in groups { table.append(Self.numbers(group.tally) + group.cells) }
        var rows: [Row] = [.table(table)]
        if let others { rows.append(.line("of more kinds than \(DeliverySummary.mostGroups): \(Self.text(others))")) }
        return rows + [.line("all \(range): \(Self.text(total))")] + receiptRows
    }

    private var receiptRows: [Row] {
        guard let receipts, !receipts.isEmpty else { return [] }
        var table = TextTable(["RECEIVED", "OPENED", "DISMISSED", "PLATFORM", "APP"])
        for said in receipts {
            let counts = [said.received, said.opened, said.dismissed].map { ProgressLine.grouped($0) }
            table.append(counts + [said.platform.rawValue, said.app])
        }
        let others = otherReceipts.map { Row.line("of more apps: \(ProgressLine.counted($0, "receipt"))") }
        return [.table(table)] + (others.map { [$0] } ?? [])
    }

    private static func text(_ tally: DeliverySummary.Tally) -> String {
        let numbers = numbers(tally)
        return ProgressLine.counted(tally.count, "outcome") + ", " + ProgressLine.counted(tally.attempts, "request")
            + ", p50 \(numbers[2]), p99 \(numbers[3])"
    }

    private static func numbers(_ tally: DeliverySummary.Tally) -> [String] {
        [ProgressLine.grouped(tally.count), ProgressLine.grouped(tally.attempts)]
            + [0.5, 0.99].map { tally.time.quantile($0).map(time) ?? "-" }
    }

    /// `12 ms`, `4.2 s`, `15m00s`.
    static func time(_ milliseconds: Int64) -> String {
        if milliseconds < 1_000 { return "\(milliseconds) ms" }
        if milliseconds < 60_000 { return "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s" }
        return ProgressLine.time(Double(milliseconds) / 1_000)
    }
}
