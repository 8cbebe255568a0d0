import Synchronization
import Telemetry

/// The roles of a process, while it runs: which failure ends what, one drain for all, and what the process says of itself.
/// Any thread.
///
/// A role that only a person can mend stops alone, with a line in the log each minute; the others go on. The process ends
/// with the failure where that role is the pipeline, where no other role runs, and where nothing has worked yet. Every other
/// failure ends it always.
package final class ProcessHost: Sendable {
    private let roles: [any Role]
    private let logger: Logger
    private let endings: Mutex<RoleEndings>

    package init(_ roles: [any Role], logger: Logger, metrics: Metrics) {
        self.roles = roles
        self.logger = logger
        endings = Mutex(RoleEndings(roles.map(\.name)))
        metrics.observe("carillon_role_stopped", help: "1 while the role has stopped and waits for a person, else 0.") {
            [weak self] in
            guard let self else { return [] }
            let stopped = self.endings.withLock { $0.stopped }
            return self.roles.map { role in
                .init(
                    labels: [.init("role", role.name.rawValue)], value: .gauge(stopped[role.name] == nil ? 0 : 1))
            }
        }
    }

    /// Runs the roles until all have ended.
    ///
    /// - Throws: the failure that says most.
    package func run() async throws {
        await withTaskGroup(of: Bool.self) { group in
            for role in roles {
                group.addTask {
                    do {
                        try await role.run()
                        self.ended(role, nil)
                    } catch {
                        self.ended(role, error)
                    }
                    return true
                }
            }
            group.addTask {
                while (try? await Task.sleep(for: .seconds(60))) != nil { self.remind() }
                return false
            }
            var running = roles.count
            while running > 0, let isRole = await group.next() {
                if isRole { running -= 1 }
            }
            group.cancelAll()
        }
        if let failure = endings.withLock({ $0.failure }) { throw failure }
    }

    /// All roles finish what is open, and ``run()`` returns. Any number of times.
    package func shutdown() {
        endings.withLock { $0.drains() }
        for role in roles { role.shutdown() }
    }

    private func ended(_ role: any Role, _ error: (any Error)?) {
        let hasWorked = roles.contains { !$0.host.patience.isStarting }
        switch endings.withLock({ $0.ended(role.name, error, hasWorked: hasWorked) }) {
        case .none: break
        case .stopsAlone: remind()
        case .endsProcess:
            if roles.count > 1, let error { logger.error("\(role.name) ends the process: \(error)") }
            shutdown()
        }
    }

    private func remind() {
        for (role, why) in endings.withLock({ $0.stopped }) {
            logger.error(
                "\(role) has stopped, and the other roles go on; restart the process once it is mended: \(why)")
        }
    }

    // MARK: What it says of itself

    /// Why a role does not do its work now, for `/ready`; empty if all do.
    package var unready: [String] {
        let stopped = endings.withLock { $0.stopped }
        return lines { role in stopped[role.name].map { ["it has stopped: \($0)"] } ?? role.unready }
    }

    /// Whose consumers get nothing, for `/live`.
    package var stuck: [String] { lines { $0.host.health.liveness.stuck } }

    /// The roles' newest lines of status.
    package var status: [String] { lines { $0.host.health.status.map { [$0] } ?? [] } }

    /// With the role in front, where there are several.
    private func lines(_ of: (any Role) -> [String]) -> [String] {
        roles.flatMap { role in roles.count == 1 ? of(role) : of(role).map { "\(role.name): \($0)" } }
    }
}
