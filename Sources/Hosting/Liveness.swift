/// Whether the pipeline can still recover by itself, or needs a restart: for a host's liveness probe.
///
/// The pipeline waits for an unreachable broker, and replaces a consumer that gets nothing although there is something to
/// read. Only when the replacement has got nothing for minutes either is it not alive. `carillon run --http` serves it
/// as `/live`.
public struct Liveness: Sendable, Equatable {
    /// Whose consumers get nothing: `worker 0`, `the subscriptions table`.
    public var stuck: [String]

    public init(stuck: [String] = []) {
        self.stuck = stuck
    }

    public var isAlive: Bool { stuck.isEmpty }
}
