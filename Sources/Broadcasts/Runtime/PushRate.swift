/// The dispatch records that may be written now, by `broadcasts.rate`: at most those of a tenth of a second at once.
struct PushRate {
    private let perSecond: Double
    private let most: Double
    private var available: Double
    private var last: ContinuousClock.Instant

    /// - Parameter perSecond: 0: no limit.
    init(perSecond: Int, now: ContinuousClock.Instant = .now) {
        self.perSecond = Double(perSecond)
        most = max(1, Double(perSecond) / 10)
        available = most
        last = now
    }

    /// So many may be written; `Int.max` without a limit. Below 0 after joiners took more.
    mutating func budget(now: ContinuousClock.Instant = .now) -> Int {
        guard perSecond > 0 else { return .max }
        available = min(most, available + perSecond * ((now - last) / .seconds(1)))
        last = now
        return Int(available)
    }

    mutating func take(_ count: Int) { available -= Double(count) }
}
