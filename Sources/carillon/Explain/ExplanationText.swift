import Events
import NotificationPayload
import Pipeline
import Replay

/// One explanation for a person, and as JSON.
struct ExplanationText {
    private let explanation: Explanation
    private let topics: PipelineConfiguration.Topics
    private let links: DeepLinks

    init(_ explanation: Explanation, _ topics: PipelineConfiguration.Topics, _ links: DeepLinks = DeepLinks()) {
        self.explanation = explanation
        self.topics = topics
        self.links = links
    }

    var text: String {
        var lines = ["\(time ?? "?")  \(subject): \(outcome)"]
        lines.append("  \(label)\(source)")
        if let place = explanation.deadLetter { lines.append("  dead letter  \(deadLetter(place))") }
        if case .deadLetter(let letter) = explanation.outcome, !explanation.isTimer {
            lines.append(
                "  what to do   repair its cause, then put it back: 'carillon replay dead-letters --code \(letter.code.label) "
                    + "--dry-run' (docs/dead-letters.md)")
        }
        if let status = explanation.reading.status { lines.append("  status       \(status)") }
        if let subscribed = subscribedText { lines.append("  subscribed   \(subscribed)") }
        if !explanation.sources.isEmpty {
            let sources = explanation.sources.sorted { $0.key < $1.key }.map { "\($0.key) from \($0.value)" }
            lines.append("  fields       \(sources.joined(separator: ", "))")
        }
        for (reason, count) in explanation.settled.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let number = reason.countsOrders ? "none will go" : "\(count) will not go"
            lines.append("  timers       \(number): \(reason.sentence)")
        }
        if let transaction { lines.append("  transaction  \(transaction)") }
        for (id, count) in explanation.redrives.sorted(by: { $0.key < $1.key }) {
            lines.append("  re-driven    to \(count) \(count == 1 ? "device" : "devices") by \(id)")
        }
        for push in explanation.pushes {
            let places = push.places.map { "\(topics.dispatch)/\($0.partition)/\($0.offset)" }.joined(separator: ", ")
            let place = places.isEmpty ? "is not in \(topics.dispatch)" : "at \(places)"
            let again = push.redriven.map { each in
                "re-driven by \(each.id) at \(topics.dispatch)/\(each.place.partition)/\(each.place.offset)"
            }
            let told = push.places.isEmpty && !again.isEmpty ? again : [place] + again
            lines.append("  \(push.messageID) to \(push.device.prefix(12))… \(told.joined(separator: ", "))")
            lines += PushOutcomeText(push, topics).lines.map { "    \($0)" }
        }
        lines += opened.map { "  a tap opens  \($0)" }
        let others = explanation.devices - explanation.pushes.count
        if !explanation.pushes.isEmpty, others > 0 {
            lines.append("  and to \(others) \(others == 1 ? "device" : "devices") more")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// The URL that the app makes of a push, with the templates of `deep-link.food` and `deep-link.d2d`; nil without one.
    private func url(_ push: Explanation.Push) -> String? { push.deepLink.flatMap { links.url(for: $0) } }

    /// Each URL once: of a list of orders there are several.
    private var opened: [String] {
        explanation.pushes.compactMap(url).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    private var time: String? { explanation.time.map(TimeText.iso8601) }

    private var isRequest: Bool {
        switch explanation.event.partition.source {
        case .orders: false
        case .requests: true
        }
    }

    private var label: String {
        isRequest ? "request      " : explanation.isTimer ? "timer at     " : "event        "
    }

    private var subject: String {
        if isRequest {
            let audiences = explanation.reading.audiences
            let others = audiences.count > 1 ? " and \(audiences.count - 1) more" : ""
            return "request" + (explanation.reading.requestID.map { " \($0)" } ?? "")
                + (audiences.first.map { " to \($0)\(others)" } ?? "")
        }
        let unknown = explanation.isTimer ? "a timer" : "an event"
        let type = explanation.reading.types.first.map { String($0.trimmingPrefix("event_")) } ?? unknown
        let order = explanation.order.map { " of order \($0)" } ?? ""
        let place = explanation.reading.places.first.map { " at place \($0)" } ?? ""
        return type + order + place
    }

    private var source: String {
        let partition = explanation.event.partition
        let topic = explanation.isTimer ? EventBatch.scheduleTopic : topics.topic(of: partition.source)
        return "\(topic)/\(partition.number)/\(explanation.event.offset)"
    }

    private var outcome: String {
        switch explanation.outcome {
        case .sent:
            "sent to \(devices)"
                + (explanation.subscribed != nil && explanation.pushes.isEmpty ? ", not to this one" : "")
        case .notSent(let reason): "not sent: \(reason.sentence)"
        case .dropped(let reason): "not sent: \(reason.sentence)"
        case .deadLetter(let letter): "not sent: a dead letter, \(letter.code.label): \(letter.message)"
        case .refused(let refusal):
            "not sent to \(devices): record_refused, \(refusal.message); dead letter at \(deadLetter(refusal.place))"
        case nil: "not sent"
        }
    }

    private var devices: String { "\(explanation.devices) \(explanation.devices == 1 ? "device" : "devices")" }

    private func deadLetter(_ place: Coordinates) -> String {
        "\(topics.deadLetters)/\(place.partition)/\(place.offset)"
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

    // MARK: JSON

    struct Document: Encodable {
        struct Push: Encodable {
            struct Redriven: Encodable {
                var id: String
                var at: String
            }

            var messageID: String
            var device: String
            var at: [String]
            var redriven: [Redriven]
            /// What became of its records at the provider; absent if that is not known.
            var outcomes: [PushOutcomeText.Document]?
            /// The URL that a tap opens.
            var opens: String?
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
        var requestID: String?
        /// Of a request.
        var audiences: [String]?
        var outcome: String
        var reason: String?
        var message: String?
        var deadLetter: String?
        var devices: Int
        var pushes: [Push]
        var fields: [String: String]
        var subscribed: String?
        var settledTimers: [String: Int]
        var redrives: [String: Int]
        var transaction: Transaction?
    }

    var document: Document {
        var (outcome, reason, message): (String, String?, String?) = ("not_sent", nil, nil)
        var place: String?
        switch explanation.outcome {
        case .sent: outcome = "sent"
        case .notSent(let suppression): (reason, message) = (suppression.label, suppression.sentence)
        case .dropped(let drop): (reason, message) = (drop.label, drop.sentence)
        case .deadLetter(let letter):
            (outcome, reason, message) = ("dead_letter", letter.code.label, letter.message)
            place = explanation.deadLetter.map(deadLetter)
        case .refused(let refusal):
            (outcome, reason, message) = ("dead_letter", DeadLetter.Code.recordRefused.label, refusal.message)
            place = deadLetter(refusal.place)
        case nil: break
        }
        return Document(
            source: source, timer: explanation.isTimer, time: time, eventType: explanation.reading.types.first,
            orderID: explanation.order, placeID: explanation.reading.places.first, status: explanation.reading.status,
            requestID: explanation.reading.requestID, audiences: isRequest ? explanation.reading.audiences : nil,
            outcome: outcome, reason: reason, message: message, deadLetter: place, devices: explanation.devices,
            pushes: explanation.pushes.map { push in
                .init(
                    messageID: push.messageID, device: push.device,
                    at: push.places.map { "\(topics.dispatch)/\($0.partition)/\($0.offset)" },
                    redriven: push.redriven.map { each in
                        .init(id: each.id, at: "\(topics.dispatch)/\(each.place.partition)/\(each.place.offset)")
                    }, outcomes: PushOutcomeText(push, topics).documents, opens: url(push))
            }, fields: explanation.sources, subscribed: subscribedText,
            settledTimers: Dictionary(uniqueKeysWithValues: explanation.settled.map { ($0.key.label, $0.value) }),
            redrives: explanation.redrives,
            transaction: explanation.step.map { step in
                .init(
                    from: step.from, to: step.to, clock: TimeText.iso8601(step.clock), rules: step.rules,
                    table: step.table, journal: "\(topics.journal)/\(step.place.partition)/\(step.place.offset)")
            })
    }
}
