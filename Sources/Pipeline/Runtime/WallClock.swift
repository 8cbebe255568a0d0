import Telemetry

/// The wall clock, read by the workers alone: the core takes time as an argument.
enum WallClock {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    static func now() -> Int64 { LogTime.now().milliseconds }
}
