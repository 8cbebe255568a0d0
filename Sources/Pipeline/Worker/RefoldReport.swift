/// A worker's progress in folding the states of its partitions again, for the log.
struct RefoldReport: Equatable {
    /// Such as `orders and requests`.
    let subject: String
    private let began: ContinuousClock.Instant
    private let total: Int64
    private var reportedAt: ContinuousClock.Instant
    private(set) var records = 0

    /// - Parameter total: how many offsets there are to fold.
    init(of sources: [SourceKind], total: Int64, now: ContinuousClock.Instant) {
        subject = sources.map { "\($0)" }.joined(separator: " and ")
        self.total = total
        began = now
        reportedAt = now
    }

    mutating func add(_ records: Int) { self.records += records }

    /// A line every 10 s: the rate, and when the fold will be done.
    mutating func line(left: Int64, now: ContinuousClock.Instant) -> String? {
        guard now - reportedAt >= .seconds(10) else { return nil }
        reportedAt = now
        let seconds = (now - began) / .seconds(1)
        let done = max(1, total - left)
        let rate = Int(Double(records) / seconds)
        let wait = Int((seconds * Double(left) / Double(done)).rounded(.up))
        return "folds the state of \(subject): \(rate) records/s, \(left) offsets left, ready in about \(wait) s"
    }

    func end(now: ContinuousClock.Instant) -> String {
        let seconds = (now - began) / .seconds(1)
        return "the state of \(subject) is complete: \(records) records in \(Int(seconds.rounded())) s"
    }
}
