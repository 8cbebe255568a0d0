import Time

/// Whether a lane's provider works: the answers to what was sent in ten seconds, or the last ones where they are few.
package struct ProviderHealth: Sendable {
    /// Fewer answers than this say nothing of their shares.
    static let fewest = 20
    /// So many devices whose requests failed, with none between that was answered, are the provider's failure and not theirs.
    static let fewestDevices = 3
    private static let window: Int64 = 10
    /// Longer than a request waits for its answer.
    private static let kept: Int64 = 32

    private var second = Int64.min
    /// By the second of sending: a missing answer is noticed late.
    private var answers = [Int](repeating: 0, count: Int(kept))
    private var failures = [Int](repeating: 0, count: Int(kept))
    /// Whose requests have failed since the last one that was answered.
    private var failed: [DeviceOrder.Device] = []
    /// When the newest request was sent that was answered.
    private var answered: WallTime?
    /// What was sent up to then does not count.
    private var since: WallTime?

    package init() { failed.reserveCapacity(Self.fewestDevices) }

    /// An answer, or its absence.
    ///
    /// - Returns: whether the provider fails: over half of at least 20 or, where they are fewer, those of the last three
    ///   devices were 5xx, time-outs or broken connections. Of many, three in a row fail by chance.
    package mutating func record(
        _ kind: AnswerKind, of device: DeviceOrder.Device, sentAt: WallTime, now: WallTime
    ) -> Bool {
        advance(to: now.milliseconds / 1_000)
        guard since.map({ sentAt > $0 }) ?? true else { return false }
        let sent = min(max(sentAt.milliseconds / 1_000, second - Self.kept + 1), second)
        let seconds = max(sent - Self.window, second - Self.kept) + 1...sent
        let slot = Self.slot(sent)
        answers[slot] += 1
        switch kind {
        case .failed:
            failures[slot] += 1
            let isOld = answered.map { sentAt <= $0 } ?? false
            if !isOld, failed.count < Self.fewestDevices, !failed.contains(device) { failed.append(device) }
        case .answered, .throttled:
            answered = max(answered ?? sentAt, sentAt)
            failed.removeAll(keepingCapacity: true)
        }
        let all = seconds.reduce(0) { $0 + answers[Self.slot($1)] }
        guard all >= Self.fewest else { return failed.count == Self.fewestDevices }
        return seconds.reduce(0) { $0 + failures[Self.slot($1)] } * 2 > all
    }

    /// Forgets everything: after a pause.
    package mutating func reset() {
        let answered = answered
        self = Self()
        (self.answered, since) = (answered, answered)
    }

    private static func slot(_ second: Int64) -> Int { Int((second % kept + kept) % kept) }

    private mutating func advance(to current: Int64) {
        guard current > second else { return }
        if second != Int64.min {
            for passed in 1...min(current - second, Self.kept) {
                answers[Self.slot(second + passed)] = 0
                failures[Self.slot(second + passed)] = 0
            }
        }
        second = current
    }
}
