import Dispatch
import Synchronization

/// What the server's thread and its owner share.
final class ServerState: Sendable {
    let handler: any HTTPHandler
    let limits: HTTPLimits
    let connections: OpenConnections
    /// The requests that were accepted and are not answered.
    let underWay = DispatchGroup()
    private let draining = Atomic(false)
    private let bodiesBytes = Atomic(0)

    init(_ handler: any HTTPHandler, _ limits: HTTPLimits) {
        self.handler = handler
        self.limits = limits
        connections = OpenConnections(limits)
    }

    var isDraining: Bool { draining.load(ordering: .sequentiallyConsistent) }

    func drain() {
        draining.store(true, ordering: .sequentiallyConsistent)
    }

    /// The bytes of all bodies that are kept. Only the server's thread changes it.
    var bodies: Int {
        get { bodiesBytes.load(ordering: .relaxed) }
        set { bodiesBytes.store(newValue, ordering: .relaxed) }
    }
}
