import KafkaClient
import NotificationPayload
import Replay

/// An explanation of one event, request or timer.
struct ExplanationReport: Report {
    struct Push: Encodable {
        struct Redriven: Encodable {
            var id: String
            var at: RecordPosition
        }

        var messageID: String
        var device: String
        var at: [RecordPosition]
        var redriven: [Redriven]
        /// What became of its records at the provider; absent if that is not known.
        var outcomes: [PushOutcome]?
        /// The URL that a tap opens.
        var opens: String?
    }

    struct Transaction: Encodable {
        var from: Int64
        var to: Int64
        var clock: WallTime
        var rules: String
        var table: [Int64]?
        var journal: RecordPosition
    }

    private var source: RecordPosition
    private var timer: Bool
    private var time: WallTime?
    private var eventType: String?
    private var orderID: String?
    private var placeID: String?
    private var status: String?
    private var requestID: String?
    /// Those that a request names, or that the settings name for an event; nil for any other event, and for a timer.
    private var audiences: [String]?
    private var outcome = "not_sent"
    private var reason: String?
    private var message: String?
    private var deadLetter: RecordPosition?
    private var devices: Int
    private(set) var pushes: [Push]
    private var fields: [String: String]
    private var subscribed: String?
    private var settledTimers: [String: Int]
    private var redrives: [String: Int]
    private var transaction: Transaction?

    private let explanation: Explanation
    private let topics: PipelineConfiguration.Topics

    private enum CodingKeys: String, CodingKey {
        case source, timer, time, eventType, orderID, placeID, status, requestID, audiences, outcome, reason, message
        case deadLetter, devices, pushes, fields, subscribed, settledTimers, redrives, transaction
    }

    init(_ explanation: Explanation, _ topics: PipelineConfiguration.Topics, _ links: DeepLinks = DeepLinks()) {
        self.explanation = explanation
        self.topics = topics
        let (event, reading) = (explanation.event, explanation.reading)
        let topic = explanation.isTimer ? EventBatch.scheduleTopic : topics.topic(of: event.partition.source)
        source = RecordPosition(topic, event.partition.number, event.offset)
        timer = explanation.isTimer
        time = explanation.time
        eventType = reading.types.first
        orderID = explanation.order
        placeID = reading.places.first
        status = reading.status
        requestID = reading.requestID
        switch event.partition.source {
        case .orders: audiences = reading.audiences.isEmpty ? nil : reading.audiences
        case .requests: audiences = reading.audiences
        }
        devices = explanation.devices
        pushes = explanation.pushes.map { push in
            Push(
                messageID: push.messageID, device: push.device,
                at: push.positions.map { $0.position(in: topics.dispatch) },
                redriven: push.redriven.map { .init(id: $0.id, at: $0.position.position(in: topics.dispatch)) },
                outcomes: push.outcomes.map { found in push.allPositions.compactMap { found[$0].map(PushOutcome.init) }
                },
                opens: push.deepLink.flatMap { links.url(for: $0) })
        }
        fields = explanation.sources
        subscribed = explanation.subscribed?.sentence
        settledTimers = Dictionary(uniqueKeysWithValues: explanation.settled.map { ($0.key.label, $0.value) })
        redrives = explanation.redrives
        transaction = explanation.step.map { step in
            Transaction(
                from: step.from, to: step.to, clock: step.clock, rules: step.rules,
                table: step.table, journal: step.coordinates.position(in: topics.journal))
        }
        switch explanation.outcome {
        case .sent: outcome = "sent"
        case .notSent(let suppression): (reason, message) = (suppression.label, suppression.sentence)
        case .dropped(let drop): (reason, message) = (drop.label, drop.sentence)
        case .deadLetter(let letter):
            (outcome, reason, message) = ("dead_letter", letter.code.label, letter.message)
            deadLetter = explanation.deadLetter?.position(in: topics.deadLetters)
        case .refused(let refusal):
            (outcome, reason, message) = ("dead_letter", refusal.code.label, refusal.message)
            deadLetter = refusal.position.position(in: topics.deadLetters)
        case nil: break
        }
    }

    var rows: [Row] {
        let kind =
            switch explanation.event.partition.source {
            case .orders: timer ? "timer at     " : "event        "
            case .requests: "request      "
            }
        var lines = ["\(time?.description ?? "?")  \(subject): \(told)", "  \(kind)\(source)"]
        if let position = explanation.deadLetter {
            lines.append("  dead letter  \(position.position(in: topics.deadLetters))")
        }
        if case .deadLetter(let letter) = explanation.outcome, !timer {
            lines.append(
                "  what to do   repair its cause, then put it back: 'carillon replay dead-letters --code \(letter.code.label) "
                    + "--dry-run' (docs/dead-letters.md)")
        }
        if let status { lines.append("  status       \(status)") }
        if let audiences, explanation.event.partition.source == .orders {
            let others = audiences.count > 5 ? " and \(audiences.count - 5) more" : ""
            lines.append("  audiences    \(audiences.prefix(5).joined(separator: ", "))\(others)")
        }
        if let subscribed { lines.append("  subscribed   \(subscribed)") }
        if !fields.isEmpty {
            let sources = fields.sorted { $0.key < $1.key }.map { "\($0.key) from \($0.value)" }
            lines.append("  fields       \(sources.joined(separator: ", "))")
        }
        for (reason, count) in explanation.settled.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let number = reason.countsOrders ? "none will go" : "\(count) will not go"
            lines.append("  timers       \(number): \(reason.sentence)")
        }
        if let transaction {
            lines.append(
                "  transaction  offsets \(transaction.from) to \(transaction.to), clock \(transaction.clock), rules "
                    + "\(transaction.rules), \(transaction.journal)")
        } else {
            lines.append("  transaction  no journal says which; this is approximate")
        }
        for (id, count) in redrives.sorted(by: { $0.key < $1.key }) {
            lines.append("  re-driven    to \(ProgressLine.counted(count, "device")) by \(id)")
        }
        for push in pushes {
            lines.append("  \(push.messageID) to \(push.device.prefix(12))… \(found(push))")
            guard let outcomes = push.outcomes else { continue }
            let positions = push.at + push.redriven.map(\.at)
            lines += PushOutcome.lines(outcomes, at: positions, in: topics.deliveries).map { "    \($0)" }
        }
        // Each URL once: of a list of orders there are several.
        for (index, push) in pushes.enumerated() {
            guard let url = push.opens, !pushes[..<index].contains(where: { $0.opens == url }) else { continue }
            lines.append("  a tap opens  \(url)")
        }
        let others = devices - pushes.count
        if !pushes.isEmpty, others > 0 { lines.append("  and to \(ProgressLine.counted(others, "device")) more") }
        return lines.map(Row.line)
    }

    private func found(_ push: Push) -> String {
        let positions = push.at.map(\.description).joined(separator: ", ")
        let own = positions.isEmpty ? "is not in \(topics.dispatch)" : "at \(positions)"
        let again = push.redriven.map { "re-driven by \($0.id) at \($0.at)" }
        return (push.at.isEmpty && !again.isEmpty ? again : [own] + again).joined(separator: ", ")
    }

    private var subject: String {
        if let audiences, explanation.event.partition.source == .requests {
            let others = audiences.count > 1 ? " and \(audiences.count - 1) more" : ""
            return "request" + (requestID.map { " \($0)" } ?? "")
                + (audiences.first.map { " to \($0)\(others)" } ?? "")
        }
        let type = eventType.map { String($0.trimmingPrefix("event_")) } ?? (timer ? "a timer" : "an event")
        return type + (orderID.map { " of order \($0)" } ?? "") + (placeID.map { " at place \($0)" } ?? "")
    }

    private var told: String {
        let devices = ProgressLine.counted(devices, "device")
        switch explanation.outcome {
        case .sent: return "sent to \(devices)" + (subscribed != nil && pushes.isEmpty ? ", not to this one" : "")
        case .notSent, .dropped: return "not sent: \(message ?? "")"
        case .deadLetter: return "not sent: a dead letter, \(reason ?? ""): \(message ?? "")"
        case .refused(let refusal):
            let position = refusal.position.position(in: topics.deadLetters)
            return "not sent to \(devices): \(refusal.code.label), \(refusal.message); dead letter at \(position)"
        case nil: return "not sent"
        }
    }
}

extension Explanation.Subscribed {
    fileprivate var sentence: String {
        switch self {
        case .yes: "yes"
        case .never: "never"
        case .notUntil(let time): "not until \(time.iso8601)"
        case .notSince(let time): "no longer, since \(time.iso8601)"
        case .stale(let seen): "yes, but last seen at \(seen.iso8601), longer ago than subscriptions.max-age"
        }
    }
}
