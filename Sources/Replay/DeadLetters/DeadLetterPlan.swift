import KafkaClient

/// Why a dead letter is not put back.
package enum DeadLetterLeft: String, CaseIterable, Sendable, Encodable, CodingKeyRepresentable {
    /// The present rules would reject it too.
    case stillDead = "still_dead"
    /// The event alone does not show whether it would be accepted now: select it by its code, or list it in the file.
    case untried
    /// The dead letter holds only the beginning of its value.
    case truncated
    /// It does not come from a topic that the pipeline reads: it is a timer's, or another topic's.
    case otherTopic = "other_topic"
    /// No Carillon pipeline wrote it.
    case foreign
    case tooOld = "too_old"
    /// It is in its topic again.
    case putBack = "put_back"
    /// The order has newer events.
    case late
    /// Partitions were added to its topic, and the partition of its key cannot be determined.
    case moved
    /// The broker rejects its event.
    case refused
    /// A request that nobody would get any more.
    case expired
}

/// What would be put back, and what would not. Its events include requests.
package struct DeadLetterPlan: Equatable, Sendable, Encodable, ResendPlan {
    package struct Count: Equatable, Sendable, Encodable {
        package var deadLetters = 0
        package var putBack = 0
    }

    /// An event that would be put back.
    package struct Example: Equatable, Sendable, Encodable {
        /// The position of the dead letter.
        package var at: RecordPosition
        package var code: String
        package var orderID: String?
        /// The time of the event.
        package var time: WallTime
    }

    /// Counted by the topic of the original record, and by `x-error-code`.
    package internal(set) var byTopic: [String: [String: Count]] = [:]
    /// The events that would be put back, by type.
    package internal(set) var byType: [String: Int] = [:]
    package internal(set) var left: [DeadLetterLeft: Int] = [:]
    /// Events that the rules would still reject, by their dead-letter code now.
    package internal(set) var stillDead: [String: Int] = [:]
    package internal(set) var first: Example?
    package internal(set) var last: Example?
    /// The dead letters that were examined: those with the selected codes.
    package internal(set) var deadLetters = 0
    /// What would be put back.
    package internal(set) var events = 0
    /// Of those, the number that this run has already put back.
    package internal(set) var done = 0

    package var remaining: Int { events - done }

    /// Counted by `x-error-code`.
    package var byCode: [String: Count] {
        byTopic.values.reduce(into: [:]) { sum, codes in
            for (code, count) in codes {
                sum[code, default: Count()].deadLetters += count.deadLetters
                sum[code, default: Count()].putBack += count.putBack
            }
        }
    }

    mutating func leave(_ reason: DeadLetterLeft) { left[reason, default: 0] += 1 }

    mutating func find(_ code: String, of topic: String) {
        byTopic[topic, default: [:]][code, default: Count()].deadLetters += 1
    }

    /// - Parameters:
    ///   - topic: the topic of its event or request.
    ///   - deadLetters: the topic of the dead letter.
    mutating func select(_ candidate: DeadLetterCandidate, of topic: String, in deadLetters: String) {
        events += 1
        byTopic[topic, default: [:]][candidate.code, default: Count()].putBack += 1
        byType[candidate.type, default: 0] += 1
        let example = Example(
            at: candidate.coordinates.position(in: deadLetters), code: candidate.code, orderID: candidate.order,
            time: candidate.time)
        if first.map({ candidate.time < $0.time }) ?? true { first = example }
        if last.map({ candidate.time >= $0.time }) ?? true { last = example }
    }
}

/// A dead letter that the rules would accept now.
package struct DeadLetterCandidate {
    /// Of the dead letter.
    package var coordinates: Coordinates
    /// Of the original event or request.
    var event: EventCoordinates
    var code: String
    var type: String
    var order: String?
    /// Time of the original event.
    var time: WallTime
    /// Timestamp of the dead-letter record.
    var timestamp: WallTime
    /// Of a request.
    var expiresAt: WallTime?
    var key: [UInt8]?
    /// A newer event of the same key belongs to the same order, so that putting this one back would regress its state.
    var touchesState: Bool
    /// The partition of its topic that it is written to.
    var home: Int32

    var source: SourceKind { event.partition.source }

    /// Whether the pipeline would suppress it at a time (docs/rules.md §8.3).
    func isExpired(at time: WallTime) -> Bool { expiresAt.map { $0 <= time } ?? false }
}
