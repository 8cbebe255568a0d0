import Replay

/// The outcome of `carillon replay plan`.
struct PlanReport: Report {
    var input: ReplayInput
    var plan: ReplayPlan
    /// Pushes of people and addresses that were erased after them; nil: others count them.
    var erased: Int?
    /// The broadcasts of the same time; nil where they are not known.
    var broadcasts: BroadcastTally?

    private static let barWidth = 40
    private static let mostHours = 48

    private enum CodingKeys: CodingKey { case devicesByHour, broadcasts, erased }

    func encode(to encoder: any Encoder) throws {
        try input.encode(to: encoder)
        try plan.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        let hours = plan.devicesByHour.map { ($0.key.iso8601, $0.value) }
        try members.encode(Dictionary(uniqueKeysWithValues: hours), forKey: .devicesByHour)
        try members.encodeIfPresent(broadcasts, forKey: .broadcasts)
        try members.encodeIfPresent(erased, forKey: .erased)
    }

    var rows: [Row] {
        let counts = [
            "\(ProgressLine.grouped(Int(input.eventOffsets))) offsets",
            "\(ProgressLine.grouped(plan.notifications)) notifications",
            "\(ProgressLine.grouped(plan.devices)) devices",
        ]
        var rows = [
            Row.line(counts.joined(separator: " → ") + ", \(ProgressLine.grouped(plan.bytes)) bytes"), .line(""),
        ]
        var table = TextTable(["EVENT", "NOTIFICATIONS", "DEVICES"])
        for (type, count) in plan.byType.sorted(by: { $0.key < $1.key }) {
            table.append([
                String(type.trimmingPrefix("event_")), ProgressLine.grouped(count.notifications),
                ProgressLine.grouped(count.devices),
            ])
        }
        if !plan.byType.isEmpty { rows += [.table(table), .line("")] }
        rows += bars.map(Row.line)
        for (title, reasons) in [
            ("events that notify nobody", plan.suppressed), ("dead letters", plan.deadLetters),
            ("timers that are not sent", plan.droppedTimers),
        ] where !reasons.isEmpty {
            let list = reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            let numbers = list.map { "\(ProgressLine.grouped($0.value)) \($0.key)" }.joined(separator: ", ")
            rows.append(.line("\(title): \(numbers)"))
        }
        if let erased, erased > 0 {
            rows.append(.line("left out: \(ProgressLine.grouped(erased)) \(RedriveOmission.erased.sentence)"))
        }
        if let first = plan.first { rows.append(.line("first: \(Self.line(first))")) }
        if let last = plan.last { rows.append(.line("last:  \(Self.line(last))")) }
        if let broadcasts, broadcasts.transactions > 0 { rows.append(.line(broadcasts.text)) }
        return rows
    }

    /// One bar per hour, for the last two days of the range that have any.
    private var bars: [String] {
        let hours = plan.devicesByHour.sorted { $0.key < $1.key }
        guard let most = hours.map(\.value).max() else { return [] }
        let shown = hours.suffix(Self.mostHours)
        let omitted = hours.count > shown.count ? ["… \(hours.count - shown.count) hours before"] : []
        return omitted
            + shown.map { hour, count in
                let bar = String(repeating: "█", count: max(1, count * Self.barWidth / most))
                return "\(hour.iso8601.prefix(13))h  \(bar) \(ProgressLine.grouped(count))"
            } + [""]
    }

    private static func line(_ example: ReplayPlan.Example) -> String {
        "\(example.time) \(example.eventType.trimmingPrefix("event_")) from \(example.source), "
            + "\(example.messageID), device \(example.device.prefix(12))…"
    }
}

/// The members that every report of a replay has.
extension ReplayInput: Encodable {
    private enum CodingKeys: CodingKey { case approximate, approximations, notes, offsets, transactions }

    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(isApproximate, forKey: .approximate)
        try members.encode(approximations, forKey: .approximations)
        try members.encode(notes, forKey: .notes)
        try members.encode(eventOffsets, forKey: .offsets)
        try members.encode(steps, forKey: .transactions)
    }
}
