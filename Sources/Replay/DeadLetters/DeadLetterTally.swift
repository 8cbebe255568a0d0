/// What became of the confirmed dead letters so far; and its text in a cursor.
package struct DeadLetterTally: Equatable, Sendable {
    package var putBack = 0
    /// Dead letters that were skipped when their turn came, by reason.
    package var left: [DeadLetterLeft: Int] = [:]

    package init() {}

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

    /// - Returns: nil if the text is no tally.
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

/// A dead letter whose event the broker rejects every time.
package struct DeadLetterRefusal: Equatable, Sendable {
    /// The place of the dead letter.
    package var place: Coordinates
    package var message: String
}

/// Progress of a run.
package struct DeadLetterResult: Equatable, Sendable {
    /// Includes earlier runs of the same id.
    package var tally = DeadLetterTally()
    /// Of this run alone; only the first ones.
    package var refusals: [DeadLetterRefusal] = []

    package init() {}
}
