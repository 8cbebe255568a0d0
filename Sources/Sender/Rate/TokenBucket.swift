import Time

/// How fast a credential may send: a rate that begins at zero and grows to its full value within a minute, shared with
/// other processes, and halved when the provider says that it is too high.
package struct TokenBucket: Sendable {
    /// How long the rate grows from zero, in milliseconds.
    static let ramp: Double = 60_000
    /// What is not used is lost after so many milliseconds: a quota is spread evenly.
    static let burst: Double = 50
    /// The share of 429 in a second's answers from which on the rate is halved.
    static let tolerated = 0.01
    static let least = 1.0 / 64

    /// Messages a millisecond of all processes together.
    private let full: Double
    /// The part of them that is this process's, as its partitions are of all.
    package private(set) var share: Double
    private var factor = 1.0
    private var tokens = 1.0
    private var began: WallTime?
    private var last = WallTime.epoch
    private var second = Int64.min
    private var answers = 0
    private var throttled = 0
    /// Whether a push of orders, or of broadcasts, has waited for a token since the last look.
    private var ordersWait = false
    private var broadcastsWait = false
    /// While both wait, one token for each that an order has taken: the broadcasts' half.
    private var kept = 0.0

    package init(perMinute: Int, share: Double = 1) {
        full = Double(perMinute) / 60_000
        self.share = share
    }

    /// The rate now, in messages a millisecond.
    package func rate(now: WallTime) -> Double {
        full * share * factor * min(Double(now - (began ?? now)) / Self.ramp, 1)
    }

    /// Partitions have moved: another part of the rate is this process's from now on. What it had saved beyond its new
    /// burst is lost: others have that part now.
    package mutating func setShare(_ share: Double) {
        self.share = share
        tokens = min(tokens, limit(now: last))
    }

    /// The pushes of this kind are about to ask for tokens: those that wait ask again.
    package mutating func begin(_ kind: PushKind) {
        switch kind {
        case .orders:
            ordersWait = false
            if !broadcastsWait { kept = 0 }
        case .broadcasts: broadcastsWait = false
        }
    }

    /// Takes one message's token; false if it has to wait. The first one never waits. While orders wait, broadcasts get at
    /// most every second token.
    package mutating func take(_ kind: PushKind = .orders, now: WallTime) -> Bool {
        fill(now)
        switch kind {
        case .orders:
            guard tokens - kept >= 1 else {
                ordersWait = true
                return false
            }
            if broadcastsWait { kept += 1 }
        case .broadcasts:
            guard tokens >= 1, !ordersWait || kept >= 1 else {
                broadcastsWait = true
                return false
            }
            kept = max(kept - 1, 0)
        }
        tokens -= 1
        return true
    }

    /// Begins at zero again: after a pause.
    package mutating func restart(now: WallTime) {
        began = now
        last = now
        tokens = 1
        kept = 0
    }

    /// An answer came.
    package mutating func answered(_ kind: AnswerKind, now: WallTime) {
        closeSecond(now)
        answers += 1
        switch kind {
        case .throttled: throttled += 1
        case .answered, .failed: break
        }
    }

    private mutating func fill(_ now: WallTime) {
        closeSecond(now)
        guard let began else {
            self.began = now
            last = now
            return
        }
        guard now > last else { return }
        // The mean rate of the time, which matters while it grows.
        let mean = (rate(now: now) + rate(now: max(last, began))) / 2
        tokens = min(tokens + mean * Double(now - last), limit(now: now))
        last = now
    }

    /// The most that is saved: one message at least, or a low rate would never send.
    private func limit(now: WallTime) -> Double { max(rate(now: now) * Self.burst, 1) }

    private mutating func closeSecond(_ now: WallTime) {
        let current = now.milliseconds / 1_000
        guard current != second else { return }
        if second != Int64.min {
            if Double(throttled) > Double(answers) * Self.tolerated {
                factor = max(factor / 2, Self.least)
            } else {
                // As slowly as it begins: from nothing to everything within a minute.
                factor = min(factor + Double(max(current - second, 1)) / 60, 1)
            }
        }
        second = current
        answers = 0
        throttled = 0
    }
}
