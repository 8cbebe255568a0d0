import Telemetry

/// What a process may do, as `--roles` and the label `role` name it.
package enum RoleName: String, CaseIterable, Sendable {
    /// Events become pushes.
    case pipeline
    /// Broadcasts are sent to the devices of their channels.
    case broadcasts
    /// Pushes are sent to their providers.
    case deliver
    /// Commands about devices and people are decided.
    case registrar
    /// Backends ask over HTTP.
    case api

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
    /// `carillon_ready` of a role, and how its clock compares. A process may have several in one registry.
    package func observeReadiness(of role: some Role) {
        observe(
            "carillon_broker_clock_seconds",
            help: "How far the clock is ahead of the broker's, if more than a minute; what may be over waits, else 0.",
            labels: ["role": role.name.rawValue]
        ) { [weak role] in
            [.init(value: .gauge(Double(role?.host.health.clockIsAhead ?? 0)))]
        }
        observe("carillon_ready", help: "1 while the role does its work, else 0.", labels: ["role": role.name.rawValue])
        { [weak role] in
            [.init(value: .gauge(role?.unready.isEmpty == true ? 1 : 0))]
        }
    }

    /// `carillon_consumer_lag_records` of a role: what is not processed yet in the partitions that it owns here.
    package func observeLag(
        of role: RoleName, _ read: @escaping @Sendable () -> [(topic: String, partition: Int32, records: Int)]
    ) {
        observe(
            "carillon_consumer_lag_records", help: "Records not processed yet, by role, topic and owned partition.",
            labels: ["role": role.rawValue]
        ) {
            read().map {
                .init(
                    labels: [.init("topic", $0.topic), .init("partition", "\($0.partition)")],
                    value: .gauge(Double($0.records)))
            }
        }
    }
}
