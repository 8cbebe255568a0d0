extension Duration {
    /// Whole milliseconds, rounded up (a wait of 0.1 ms must not become a busy loop) and clamped to 0 … the largest
    /// `Int32`, which is what librdkafka takes.
    var milliseconds: Int32 {
        let (seconds, attoseconds) = components
        if seconds < 0 || attoseconds < 0 { return 0 }
        if seconds >= Int64(Int32.max) / 1000 { return .max }
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
