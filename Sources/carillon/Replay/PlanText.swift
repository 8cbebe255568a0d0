import Replay

/// The outcome of `carillon replay plan` for a person, and as JSON.
struct PlanText {
    var input: ReplayInput
    var plan: ReplayPlan
    /// What the same time has of broadcasts; nil where that is not known.
    var broadcasts: BroadcastTally?

    private static let barWidth = 40
    private static let mostHours = 48

    var text: String {
        let counts = [
            "\(ProgressLine.grouped(Int(input.eventOffsets))) offsets",
            "\(ProgressLine.grouped(plan.notifications)) notifications",
            "\(ProgressLine.grouped(plan.devices)) devices",
        ]
        var lines = [counts.joined(separator: " → ") + ", \(ProgressLine.grouped(plan.bytes)) bytes", ""]
        var table = TextTable(["EVENT", "NOTIFICATIONS", "DEVICES"])
        for (type, count) in plan.byType.sorted(by: { $0.key < $1.key }) {
            table.append([
                String(type.trimmingPrefix("event_")), ProgressLine.grouped(count.notifications),
                ProgressLine.grouped(count.devices),
            ])
        }
        if !plan.byType.isEmpty { lines.append(table.text) }
        lines += bars
        for (title, reasons) in [
            ("events that notify nobody", plan.suppressed), ("dead letters", plan.deadLetters),
            ("timers that are not sent", plan.droppedTimers),
        ] where !reasons.isEmpty {
            let list = reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            lines.append(
                "\(title): " + list.map { "\(ProgressLine.grouped($0.value)) \($0.key)" }.joined(separator: ", "))
        }
        if let first = plan.first { lines.append("first: \(Self.line(first))") }
        if let last = plan.last { lines.append("last:  \(Self.line(last))") }
        if let broadcasts, broadcasts.transactions > 0 { lines.append(broadcasts.text) }
        return lines.map { $0 + "\n" }.joined()
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
                return "\(TimeText.iso8601(hour).prefix(13))h  \(bar) \(ProgressLine.grouped(count))"
            } + [""]
    }

    private static func line(_ example: ReplayPlan.Example) -> String {
        "\(TimeText.iso8601(example.time)) \(example.type.trimmingPrefix("event_")) from \(example.source), "
            + "\(example.messageID), device \(example.device.prefix(12))…"
    }

    // MARK: JSON

    struct Document: Encodable {
        struct Count: Encodable {
            var notifications: Int
            var devices: Int
        }

        struct Example: Encodable {
            var time: String
            var eventType: String
            var source: String
            var messageID: String
            var device: String

            init(_ example: ReplayPlan.Example) {
                time = TimeText.iso8601(example.time)
                eventType = example.type
                source = example.source
                messageID = example.messageID
                device = example.device
            }
        }

        var approximate: Bool
        var approximations: [String]
        var notes: [String]
        var offsets: Int64
        var transactions: Int
        var notifications: Int
        var devices: Int
        var bytes: Int
        var byType: [String: Count]
        var devicesByHour: [String: Int]
        var suppressed: [String: Int]
        var deadLetters: [String: Int]
        var droppedTimers: [String: Int]
        var first: Example?
        var last: Example?
        var broadcasts: BroadcastTally?
    }

    var document: Document {
        Document(
            approximate: input.isApproximate, approximations: input.approximations, notes: input.notes,
            offsets: input.eventOffsets, transactions: input.steps, notifications: plan.notifications,
            devices: plan.devices, bytes: plan.bytes,
            byType: plan.byType.mapValues { .init(notifications: $0.notifications, devices: $0.devices) },
            devicesByHour: Dictionary(
                uniqueKeysWithValues: plan.devicesByHour.map { (TimeText.iso8601($0.key), $0.value) }),
            suppressed: plan.suppressed, deadLetters: plan.deadLetters, droppedTimers: plan.droppedTimers,
            first: plan.first.map(Document.Example.init), last: plan.last.map(Document.Example.init),
            broadcasts: broadcasts)
    }
}
