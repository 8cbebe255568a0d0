/// Whether the pipeline still helps itself, or only a new process may help: for a host's liveness probe.
///
/// A broker that is away is waited for, and a consumer that gets nothing although there is something to read is replaced.
/// Only where its successor got nothing either, for minutes, is the pipeline not alive. `carillon run --http` serves it as
/// `/live`.
public struct Liveness: Sendable, Equatable {
    /// Who reads in vain: `worker 0`, `the subscriptions table`.
    public var stuck: [String]

    public init(stuck: [String] = []) {
        self.stuck = stuck
    }

    public var isAlive: Bool { stuck.isEmpty }
}
