import Deliveries
import Pipeline
import Replay

/// What became of a push at its provider, for a person, and as JSON.
struct PushOutcomeText {
    /// Those of the records that there are; nil: not known.
    private let outcomes: [Coordinates: DeliveryRecord]?
    private let places: [Coordinates]
    /// Where the records are.
    private let dispatch: String
    private let deliveries: String

    init(_ push: Explanation.Push, _ topics: PipelineConfiguration.Topics) {
        outcomes = push.outcomes
        places = push.allPlaces
        dispatch = topics.dispatch
        deliveries = topics.deliveries
    }

    /// Of the pushes of a broadcast, which are told where they have an outcome.
    init(_ outcomes: [Coordinates: DeliveryRecord]?, ofBroadcast topics: PipelineConfiguration.Topics) {
        self.outcomes = outcomes
        places = (outcomes ?? [:]).keys.sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }
        dispatch = topics.broadcastDispatch
        deliveries = topics.deliveries
    }

    /// A line for each of its records; none if it is not known.
    var lines: [String] {
        guard let outcomes else { return [] }
        return places.map { place in
            let name = places.count > 1 ? "\(self.place(place)): " : ""
            return name + (outcomes[place].map(Self.line) ?? "no outcome in \(deliveries)")
        }
    }

    private func place(_ place: Coordinates) -> String { "\(dispatch)/\(place.partition)/\(place.offset)" }

    /// `accepted by fcm (200), 2 requests from … to …, lane fcm, credential shop, id …`.
    private static func line(_ outcome: DeliveryRecord) -> String {
        let meaning =
            switch outcome.outcome {
            case .accepted: "accepted by \(outcome.platform.rawValue)"
            case .expired: "expired before it was sent"
            case .deadDevice: "its token is dead, says \(outcome.platform.rawValue)"
            case .refused: "refused"
            case .gaveUp: "given up"
            case .cancelled: "cancelled with its broadcast"
            }
        let answer = [outcome.status.map(String.init), outcome.reason].compactMap(\.self).joined(separator: " ")
        var parts = [answer.isEmpty ? meaning : "\(meaning) (\(answer))", requests(outcome), "lane \(outcome.lane)"]
        if let credential = outcome.credential { parts.append("credential \(credential)") }
        if let id = outcome.providerID { parts.append("id \(id)") }
        return parts.joined(separator: ", ")
    }

    private static func requests(_ outcome: DeliveryRecord) -> String {
        guard let first = outcome.firstSentAt.map(TimeText.iso8601), outcome.attempts > 0 else { return "no request" }
        guard outcome.attempts > 1, let last = outcome.lastSentAt.map(TimeText.iso8601) else {
            return "1 request at \(first)"
        }
        return "\(outcome.attempts) requests from \(first) to \(last)"
    }

    // MARK: JSON

    struct Document: Encodable {
        /// Of the dispatch record.
        var at: String
        var outcome: String
        var status: Int?
        var reason: String?
        var providerID: String?
        var lane: String
        var credential: String?
        var attempts: Int
        var firstSentAt: String?
        var lastSentAt: String?
    }

    /// Those that there are; nil if it is not known.
    var documents: [Document]? {
        outcomes.map { outcomes in
            places.compactMap { place in
                outcomes[place].map { outcome in
                    Document(
                        at: self.place(place), outcome: outcome.outcome.rawValue, status: outcome.status,
                        reason: outcome.reason, providerID: outcome.providerID, lane: outcome.lane,
                        credential: outcome.credential, attempts: outcome.attempts,
                        firstSentAt: outcome.firstSentAt.map(TimeText.iso8601),
                        lastSentAt: outcome.lastSentAt.map(TimeText.iso8601))
                }
            }
        }
    }
}
