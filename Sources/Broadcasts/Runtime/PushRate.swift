/// The dispatch records that may be written now, by `broadcasts.rate`: at most those of one second at once.
struct PushRate {
    private let perSecond: Double
    private var available: Double
    private var last: ContinuousClock.Instant

    /// - Parameter perSecond: 0: no limit.
    init(perSecond: Int, now: ContinuousClock.Instant = .now) {
        self.perSecond = Double(perSecond)
        available = Double(perSecond)
        last = now
    }

    /// So many may be written; `Int.max` without a limit. Below 0 after joiners took more.
    mutating func budget(now: ContinuousClock.Instant = .now) -> Int {
        guard perSecond > 0 else { return .max }
        available = min(perSecond, available + perSecond * ((now - last) / .seconds(1)))
        last = now
        return Int(available)
    }

    mutating func take(_ count: Int) { available -= Double(count) }
}
