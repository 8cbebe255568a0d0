import KafkaClient
import Notifications

/// What became of a record of a push at its provider.
package struct PushOutcome: Encodable, Sendable {
    /// The position of the dispatch record.
    package var at: RecordPosition
    package var outcome: DeliveryOutcome
    package var platform: Platform
    package var status: Int?
    package var reason: String?
    package var providerID: String?
    package var credential: String?
    package var attempts: Int
    package var firstSentAt: WallTime?
    package var lastSentAt: WallTime?

    private enum CodingKeys: CodingKey {
        case at, outcome, platform, status, reason, providerID, credential, attempts, firstSentAt, lastSentAt
    }

    package init(_ record: DeliveryRecord) {
        at = RecordPosition(record.topic, record.partition, record.offset)
        outcome = record.outcome
        platform = record.platform
        status = record.status
        reason = record.reason
        providerID = record.providerID
        credential = record.credential
        attempts = record.attempts
        firstSentAt = record.firstSentAt
        lastSentAt = record.lastSentAt
    }

    /// `accepted by fcm (200), 2 requests from … to …, credential shop, id …`.
    package var sentence: String {
        let meaning =
            switch outcome {
            case .accepted: "accepted by \(platform.rawValue)"
            case .expired: "expired before it was sent"
            case .deadDevice: "its token is dead, says \(platform.rawValue)"
            case .refused: "refused"
            case .gaveUp: "given up"
            case .cancelled: "cancelled"
            case .superseded: "superseded by a newer push with its collapse key"
            }
        let answer = [status.map(String.init), reason].compactMap(\.self).joined(separator: " ")
        var parts = [answer.isEmpty ? meaning : "\(meaning) (\(answer))", requests]
        if let credential { parts.append("credential \(credential)") }
        if let providerID { parts.append("id \(providerID)") }
        return parts.joined(separator: ", ")
    }

    private var requests: String {
        guard let firstSentAt, attempts > 0 else { return "no request" }
        guard attempts > 1, let lastSentAt else { return "1 request at \(firstSentAt)" }
        return "\(attempts) requests from \(firstSentAt) to \(lastSentAt)"
    }

    /// A line for each position, with the position where there are several.
    ///
    /// - Parameter deliveries: the topic of outcomes, for positions without one.
    package static func lines(
        _ outcomes: [PushOutcome], at positions: [RecordPosition], in deliveries: String
    ) -> [String] {
        positions.map { position in
            let outcome = outcomes.first { $0.at == position }
            return (positions.count > 1 ? "\(position): " : "")
                + (outcome?.sentence ?? "no outcome in \(deliveries)")
        }
    }
}
