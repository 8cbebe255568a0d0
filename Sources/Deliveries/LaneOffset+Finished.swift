extension LaneOffset {
    /// Whether a record is finished: it is below the offset, or among the finished ones above it.
    package func isFinished(_ offset: Int64) -> Bool {
        guard offset >= self.offset else { return true }
        let (bit, isTooFar) = offset.subtractingReportingOverflow(self.offset)
        guard !isTooFar, bit < Int64(finished.count * 8) else { return false }
        return finished[Int(bit / 8)] >> UInt8(bit % 8) & 1 == 1
    }

    /// No offset from this one on is finished.
    package var end: Int64 { offset + Int64(finished.count * 8) }
}
