import Telemetry

/// What a process may do, as `--roles` and the label `role` name it.
package enum RoleName: String, CaseIterable, Sendable {
    /// Events become pushes.
    case pipeline
    /// Broadcasts are sent to the devices of their channels.
    case broadcasts
    /// Pushes are sent to their providers.
    case deliver

    package init?(code: String) { self.init(rawValue: code) }
}

/// One of the things that a process does, with threads of its own. Any thread.
package protocol Role: AnyObject, Sendable {
    var name: RoleName { get }
    var host: RoleHost { get }
    /// Why it does not do its work now; empty if it does. Does no I/O.
    var unready: [String] { get }
    /// Works until ``shutdown()`` or an error; called once.
    func run() async throws
    /// Finishes what is open, and lets ``run()`` return. Any number of times.
    func shutdown()
}

extension Metrics {
    /// `carillon_ready` of a role. A process may have several in one registry.
    package func observeReadiness(of role: some Role) {
        observe("carillon_ready", help: "1 while the role does its work, else 0.", labels: ["role": role.name.rawValue])
        { [weak role] in
            [.init(value: .gauge(role?.unready.isEmpty == true ? 1 : 0))]
        }
    }
}
