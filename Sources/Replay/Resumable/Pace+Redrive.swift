extension Pace {
    /// The number of records in one transaction: one second's worth, at most 5,000.
    var recordsAtOnce: Int { min(perSecond, 5_000) }
}
