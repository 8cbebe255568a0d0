import Pipeline
import Replay

/// One explanation for a person, and as JSON.
struct ExplanationText {
    private let explanation: Explanation
    private let topics: PipelineConfiguration.Topics

    init(_ explanation: Explanation, _ topics: PipelineConfiguration.Topics) {
        self.explanation = explanation
        self.topics = topics
    }

    var text: String {
        var lines = ["\(time ?? "?")  \(subject): \(outcome)"]
        lines.append("  \(explanation.isTimer ? "timer at     " : "event        ")\(source)")
        if let status = explanation.reading.status { lines.append("  status       \(status)") }
        if let subscribed = subscribedText { lines.append("  subscribed   \(subscribed)") }
        if !explanation.sources.isEmpty {
            let sources = explanation.sources.sorted { $0.key < $1.key }.map { "\($0.key) from \($0.value)" }
            lines.append("  fields       \(sources.joined(separator: ", "))")
        }
        for (reason, count) in explanation.settled.sorted(by: { $0.key < $1.key }) {
            lines.append("  timers       \(count) will not go: \(Self.sentence(of: reason))")
        }
        if let transaction { lines.append("  transaction  \(transaction)") }
        for push in explanation.pushes {
            let places = push.places.map { "\(topics.dispatch)/\($0.partition)/\($0.offset)" }
            lines.append(
                "  \(push.messageID) to \(push.device.prefix(12))… \(places.isEmpty ? "is not in \(topics.dispatch)" : "at \(places.joined(separator: ", "))")"
            )
        }
        if explanation.devices > explanation.pushes.count {
            lines.append("  and to \(explanation.devices - explanation.pushes.count) devices more")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private var time: String? { explanation.time.map(TimeText.iso8601) }

    private var subject: String {
        let type = explanation.reading.types.first.map { String($0.trimmingPrefix("event_")) } ?? "an event"
        let order = explanation.order.map { " of order \($0)" } ?? ""
        let place = explanation.reading.places.first.map { " at place \($0)" } ?? ""
        return type + order + place
    }

    private var source: String {
        "\(explanation.isTimer ? "schedule" : topics.events)/\(explanation.event.partition)/\(explanation.event.offset)"
    }

    private var outcome: String {
        switch explanation.outcome {
        case .sent: "sent to \(explanation.devices) \(explanation.devices == 1 ? "device" : "devices")"
        case .notSent(let reason): "not sent: \(Self.sentence(of: reason))"
        case .deadLetter(let code, let message): "a dead letter, \(code): \(message)"
        case nil: "not sent"
        }
    }

    private var transaction: String? {
        guard let step = explanation.step else { return "no journal says which; this is approximate" }
        let journal = "\(topics.journal)/\(step.place.partition)/\(step.place.offset)"
        return
            "offsets \(step.from) to \(step.to), clock \(TimeText.iso8601(step.clock)), rules \(step.rules), \(journal)"
    }

    private var subscribedText: String? {
        switch explanation.subscribed {
        case .yes: "yes"
        case .never: "never"
        case .notUntil(let time): "not until \(TimeText.iso8601(time))"
        case .notSince(let time): "no longer, since \(TimeText.iso8601(time))"
        case .stale(let seen): "yes, but last seen at \(TimeText.iso8601(seen)), longer ago than subscriptions.max-age"
        case nil: nil
        }
    }

    /// What the label of a reason means.
    static func sentence(of reason: String) -> String {
        switch reason {
        case "not_a_transition": "not_a_transition, the status was the same before"
        case "no_subscriber": "no_subscriber, nobody had subscribed to the place"
        case "stale_token": "stale_token, no device was seen for subscriptions.max-age"
        case "no_order_ids": "no_order_ids, the list is empty"
        case "duplicate": "duplicate, the order has had an event with this identity"
        case "scheduled_here": "scheduled_here, with schedule=on the pipeline sends it by the clock itself"
        case "superseded": "superseded, a newer one of its order followed at once"
        case "too_late": "too_late, later than schedule.max-lateness"
        case "already_started": "already_started, it was due before the event that named the slot"
        case "picked": "picked, the order was past picking"
        case "ended": "ended, the order was cancelled, had failed or was done"
        case "no_slot": "no_slot, the order has no time slot"
        default: reason
        }
    }

    // MARK: JSON

    struct Document: Encodable {
        struct Push: Encodable {
            var messageID: String
            var device: String
            var at: [String]

            enum CodingKeys: String, CodingKey {
                case device, at
                case messageID = "message_id"
            }
        }

        struct Transaction: Encodable {
            var from: Int64
            var to: Int64
            var clock: String
            var rules: String
            var table: [Int64]?
            var journal: String
        }

        var source: String
        var timer: Bool
        var time: String?
        var eventType: String?
        var orderID: String?
        var placeID: String?
        var status: String?
        var outcome: String
        var reason: String?
        var message: String?
        var devices: Int
        var pushes: [Push]
        var fields: [String: String]
        var subscribed: String?
        var settledTimers: [String: Int]
        var transaction: Transaction?

        enum CodingKeys: String, CodingKey {
            case source, timer, time, status, outcome, reason, message, devices, pushes, fields, subscribed, transaction
            case eventType = "event_type"
            case orderID = "order_id"
            case placeID = "place_id"
            case settledTimers = "settled_timers"
        }
    }

    var document: Document {
        var (outcome, reason, message): (String, String?, String?) = ("not_sent", nil, nil)
        switch explanation.outcome {
        case .sent: outcome = "sent"
        case .notSent(let label): reason = label
        case .deadLetter(let code, let text): (outcome, reason, message) = ("dead_letter", code, text)
        case nil: break
        }
        return Document(
            source: source, timer: explanation.isTimer, time: time, eventType: explanation.reading.types.first,
            orderID: explanation.order, placeID: explanation.reading.places.first, status: explanation.reading.status,
            outcome: outcome, reason: reason, message: message, devices: explanation.devices,
            pushes: explanation.pushes.map { push in
                .init(
                    messageID: push.messageID, device: push.device,
                    at: push.places.map { "\(topics.dispatch)/\($0.partition)/\($0.offset)" })
            }, fields: explanation.sources, subscribed: subscribedText, settledTimers: explanation.settled,
            transaction: explanation.step.map { step in
                .init(
                    from: step.from, to: step.to, clock: TimeText.iso8601(step.clock), rules: step.rules,
                    table: step.table, journal: "\(topics.journal)/\(step.place.partition)/\(step.place.offset)")
            })
    }
}
