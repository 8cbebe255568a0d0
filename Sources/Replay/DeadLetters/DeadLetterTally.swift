import Pipeline

/// What became of the dead letters that were confirmed, as far as a run has come; and its text in a cursor.
package struct DeadLetterTally: Equatable, Sendable {
    package var putBack = 0
    /// What was left where it is when its turn came, by reason.
    package var left: [DeadLetterLeft: Int] = [:]

    package init() {}

    package var isEmpty: Bool { putBack == 0 && left.isEmpty }
    package var settled: Int { putBack + left.values.reduce(0, +) }

    static func + (first: DeadLetterTally, second: DeadLetterTally) -> DeadLetterTally {
        var sum = first
        sum.putBack += second.putBack
        sum.left.merge(second.left, uniquingKeysWith: +)
        return sum
    }

    /// One word.
    var text: String {
        let left = left.sorted { $0.key.rawValue < $1.key.rawValue }.map { ",\($0.key.rawValue)=\($0.value)" }
        return "put=\(putBack)" + left.joined()
    }

    /// - Returns: nil for what is none.
    init?(_ text: String) {
        for (index, word) in text.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
            let pair = word.split(separator: "=", omittingEmptySubsequences: false)
            guard pair.count == 2, let count = Int(pair[1]), count >= 0 else { return nil }
            if index == 0, pair[0] == "put" {
                putBack = count
            } else if index > 0, let reason = DeadLetterLeft(rawValue: String(pair[0])) {
                left[reason] = count
            } else {
                return nil
            }
        }
    }
}

/// A dead letter whose event the broker refuses, whenever it is tried.
package struct DeadLetterRefusal: Equatable, Sendable {
    /// Where the dead letter stands.
    package var place: Coordinates
    package var message: String
}

/// What a run has come to.
package struct DeadLetterResult: Equatable, Sendable {
    /// Of runs of its id before it, too.
    package var tally = DeadLetterTally()
    /// Of this run alone, the first ones.
    package var refusals: [DeadLetterRefusal] = []

    package init() {}
}
