import Time

/// Whether a lane's provider works: the answers of the last ten seconds.
package struct ProviderHealth: Sendable {
    /// Fewer answers than this say nothing.
    static let fewest = 20
    private static let seconds = 10

    private var second = Int64.min
    private var answers = [Int](repeating: 0, count: seconds)
    private var failures = [Int](repeating: 0, count: seconds)

    /// An answer, or its absence.
    ///
    /// - Returns: whether the provider fails: over half of at least 20 were 5xx, time-outs or broken connections.
    package mutating func record(_ kind: AnswerKind, now: WallTime) -> Bool {
        let second = now.milliseconds / 1_000
        advance(to: second)
        let place = Int(second % Int64(Self.seconds))
        answers[place] += 1
        switch kind {
        case .failed: failures[place] += 1
        case .answered, .throttled: break
        }
        let (all, failed) = (answers.reduce(0, +), failures.reduce(0, +))
        return all >= Self.fewest && failed * 2 > all
    }

    /// Forgets everything: after a pause.
    package mutating func reset() {
        second = Int64.min
        for place in answers.indices {
            answers[place] = 0
            failures[place] = 0
        }
    }

    private mutating func advance(to current: Int64) {
        guard current > second else { return }
        if second != Int64.min {
            for passed in 1...min(current - second, Int64(Self.seconds)) {
                let place = Int((second + passed) % Int64(Self.seconds))
                answers[place] = 0
                failures[place] = 0
            }
        }
        second = current
    }
}
