import Time

/// Whether a lane's provider works: the answers of the last ten seconds, or the last ones where they are few.
package struct ProviderHealth: Sendable {
    /// Fewer answers than this say nothing of their shares.
    static let fewest = 20
    /// So many devices whose requests failed, with no answer between, are the provider's failure and not theirs.
    static let fewestDevices = 3
    private static let seconds = 10

    private var second = Int64.min
    private var answers = [Int](repeating: 0, count: seconds)
    private var failures = [Int](repeating: 0, count: seconds)
    /// Whose requests have failed since the last one that was answered.
    private var failed: [DeviceOrder.Device] = []

    package init() { failed.reserveCapacity(Self.fewestDevices) }

    /// An answer, or its absence.
    ///
    /// - Returns: whether the provider fails: over half of at least 20 or, where they are fewer, those of the last three
    ///   devices were 5xx, time-outs or broken connections. Of many, three in a row fail by chance.
    package mutating func record(_ kind: AnswerKind, of device: DeviceOrder.Device, now: WallTime) -> Bool {
        let second = now.milliseconds / 1_000
        advance(to: second)
        let place = Int(second % Int64(Self.seconds))
        answers[place] += 1
        switch kind {
        case .failed:
            failures[place] += 1
            if failed.count < Self.fewestDevices, !failed.contains(device) { failed.append(device) }
        case .answered, .throttled: failed.removeAll(keepingCapacity: true)
        }
        let (all, failures) = (answers.reduce(0, +), failures.reduce(0, +))
        return all < Self.fewest ? failed.count == Self.fewestDevices : failures * 2 > all
    }

    /// Forgets everything: after a pause.
    package mutating func reset() {
        second = Int64.min
        failed.removeAll(keepingCapacity: true)
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
