import KafkaClient
import NotificationPayload

/// An explanation of one event, request or timer.
package struct ExplanationReport: Encodable, Sendable {
    package struct Push: Encodable, Sendable {
        package struct Redriven: Encodable, Sendable {
            package var id: String
            package var at: RecordPosition
        }

        package struct Said: Encodable, Sendable {
            package var kind: Receipt.Kind
            /// By the phone's clock.
            package var at: WallTime
        }

        package var messageID: String
        package var device: String
        package var at: [RecordPosition]
        package var redriven: [Redriven]
        /// What became of its records at the provider; absent if that is not known.
        package var outcomes: [PushOutcome]?
        /// What its phone has said; absent without `topic.receipts`.
        package var receipts: [Said]?
        /// The URL that a tap opens.
        package var opens: String?
    }

    package struct Transaction: Encodable, Sendable {
        package var from: Int64
        package var to: Int64
        package var clock: WallTime
        package var rules: String
        package var table: [Int64]?
        package var journal: RecordPosition
    }

    package private(set) var source: RecordPosition
    package private(set) var timer: Bool
    package private(set) var time: WallTime?
    package private(set) var eventType: String?
    package private(set) var orderID: String?
    package private(set) var placeID: String?
    package private(set) var status: String?
    package private(set) var requestID: String?
    /// Those that a request names, or that the settings name for an event; nil for any other event, and for a timer.
    package private(set) var audiences: [String]?
    private var outcome = "not_sent"
    package private(set) var reason: String?
    package private(set) var message: String?
    private var deadLetter: RecordPosition?
    package private(set) var devices: Int
    package private(set) var pushes: [Push]
    package private(set) var fields: [String: String]
    package private(set) var subscribed: String?
    private var settledTimers: [String: Int]
    package private(set) var redrives: [String: Int]
    package private(set) var transaction: Transaction?

    package let explanation: Explanation
    package let topics: PipelineConfiguration.Topics

    private enum CodingKeys: String, CodingKey {
        case source, timer, time, eventType, orderID, placeID, status, requestID, audiences, outcome, reason, message
        case deadLetter, devices, pushes, fields, subscribed, settledTimers, redrives, transaction
    }

    package init(_ explanation: Explanation, _ topics: PipelineConfiguration.Topics, _ links: DeepLinks = DeepLinks()) {
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
                receipts: topics.receipts.isEmpty
                    ? nil
                    : Receipt.Kind.allCases.compactMap { kind in
                        push.receipts[kind].map { Push.Said(kind: kind, at: $0) }
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
        case .notSent(let suppression):
            (reason, message) = (suppression.label, suppression.sentence(of: event.partition.source))
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
