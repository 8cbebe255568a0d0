/// How far a worker is with folding the state of its orders again, for the log.
struct RefoldReport: Equatable {
    private let began: ContinuousClock.Instant
    private let total: Int64
    private var saidAt: ContinuousClock.Instant
    private(set) var records = 0

    /// - Parameter total: how many offsets there are to fold.
    init(total: Int64, now: ContinuousClock.Instant = .now) {
        self.total = total
        began = now
        saidAt = now
    }

    mutating func add(_ records: Int) { self.records += records }

    /// A line once in 10 s: the rate, and when it will be done.
    mutating func line(left: Int64, now: ContinuousClock.Instant = .now) -> String? {
        guard now - saidAt >= .seconds(10) else { return nil }
        saidAt = now
        let seconds = (now - began) / .seconds(1)
        let done = max(1, total - left)
        let rate = Int(Double(records) / seconds)
        let wait = Int((seconds * Double(left) / Double(done)).rounded(.up))
        return "folds the state of orders: \(rate) records/s, \(left) offsets left, ready in about \(wait) s"
    }

    func end(now: ContinuousClock.Instant = .now) -> String {
        let seconds = (now - began) / .seconds(1)
        return "the state of orders is whole: \(records) records in \(Int(seconds.rounded())) s"
    }
}
