import Pipeline

/// Why a dead letter stays where it is.
package enum DeadLetterLeft: String, CaseIterable, Sendable {
    /// The rules would not take it now either.
    case stillDead = "still_dead"
    /// Whether it would be taken now, the event alone does not tell: it has to be named by its code, or to be in the file.
    case untried
    /// Only the beginning of its value is there.
    case truncated
    /// It does not come from the events: a timer's, or another topic's.
    case otherTopic = "other_topic"
    /// No pipeline of this kind has written it.
    case foreign
    case tooOld = "too_old"
    /// It stands in the events again.
    case putBack = "put_back"
    /// The order has had newer events.
    case late
    /// Partitions were added to the events, and which one its key has now cannot be told.
    case moved
    /// The broker refuses its event.
    case refused
    /// This run has left it already, before it was interrupted.
    case passed
}

/// What would be put back, and what not.
package struct DeadLetterPlan: Equatable, Sendable {
    package struct Count: Equatable, Sendable {
        package var found = 0
        package var selected = 0
    }

    /// One event that would be put back.
    package struct Example: Equatable, Sendable {
        package var place: Coordinates
        package var code: String
        package var order: String?
        /// When it happened, in milliseconds since 1970.
        package var time: Int64
    }

    /// By `x-error-code`.
    package internal(set) var byCode: [String: Count] = [:]
    /// The events that would be put back, by type.
    package internal(set) var byType: [String: Int] = [:]
    package internal(set) var left: [DeadLetterLeft: Int] = [:]
    /// Of those that the rules would not take: what they would be now.
    package internal(set) var stillDead: [String: Int] = [:]
    package internal(set) var first: Example?
    package internal(set) var last: Example?
    /// The dead letters that were looked at: of the codes that were asked for.
    package internal(set) var found = 0
    /// What would be put back.
    package internal(set) var events = 0
    /// Of them, what this run has put back already.
    package internal(set) var done = 0

    package init() {}

    mutating func leave(_ reason: DeadLetterLeft) { left[reason, default: 0] += 1 }

    mutating func select(_ candidate: DeadLetterCandidate) {
        events += 1
        byCode[candidate.code, default: Count()].selected += 1
        byType[candidate.type, default: 0] += 1
        let example = Example(
            place: candidate.place, code: candidate.code, order: candidate.order, time: candidate.time)
        if first.map({ example.time < $0.time }) ?? true { first = example }
        if last.map({ example.time >= $0.time }) ?? true { last = example }
    }
}

/// A dead letter that the rules would take now.
struct DeadLetterCandidate {
    /// Where it stands.
    var place: Coordinates
    /// Where the event stood.
    var event: Coordinates
    var code: String
    var type: String
    var order: String?
    /// When it happened, in milliseconds since 1970.
    var time: Int64
    /// Of the record, in milliseconds since 1970.
    var timestamp: Int64
    var key: [UInt8]?
    /// A newer event of the same key is of the same order, whose state it would set back.
    var touchesState: Bool
    /// The partition of the events that it goes to.
    var home: Int32
}
