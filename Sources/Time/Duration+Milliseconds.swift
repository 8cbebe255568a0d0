extension Duration {
    /// Rounded down; the largest number if it does not fit.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        return overflow ? Int64.max : product &+ attoseconds / 1_000_000_000_000_000
    }
}
