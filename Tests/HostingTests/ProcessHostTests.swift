import Synchronization
import Telemetry
import Testing

@testable import Hosting

/// Each test waits for what it has caused; nothing else ends a role.
@Suite("A process and its roles", .timeLimit(.minutes(30)))
struct ProcessHostTests {
    /// A role that works until it is shut down or told to fail.
    private final class PlayedRole: Role {
        let name: RoleName
        let host = RoleHost()
        private let end: AsyncStream<(any Error)?>.Continuation
        private let ends: AsyncStream<(any Error)?>
        private let reasons: Mutex<[String]>
        let shutdowns = Atomic<Int>(0)

        init(_ name: RoleName, hasWorked: Bool = true, unready: [String] = []) {
            self.name = name
            reasons = Mutex(unready)
            (ends, end) = AsyncStream.makeStream()
            if hasWorked { host.patience.hasWorked() }
        }

        var unready: [String] { reasons.withLock { $0 } }

        func run() async throws {
            for await error in ends {
                if let error { throw error }
                return
            }
        }

        func shutdown() {
            shutdowns.add(1, ordering: .sequentiallyConsistent)
            end.yield(nil)
        }

        func fail(_ error: PipelineError) { end.yield(error) }
    }

    private let metrics = Metrics()

    private func host(_ roles: PlayedRole..., logger: Logger = Logger(label: "test", level: .critical)) -> ProcessHost {
        ProcessHost(roles, logger: logger, metrics: metrics)
    }

    private func wait(_ condition: () -> Bool) async {
        while !condition() { await Task.yield() }
    }

    @Test("a shutdown drains every role once each")
    func drains() async throws {
        let roles = RoleName.allCases.map { PlayedRole($0) }
        let host = ProcessHost(roles, logger: Logger(label: "test", level: .critical), metrics: metrics)
        host.shutdown()
        try await host.run()
        #expect(roles.allSatisfy { $0.shutdowns.load(ordering: .relaxed) == 1 })
    }

    @Test("one that stops alone leaves the others at work, is not ready with its reason, and has a metric and a line")
    func stopsAlone() async throws {
        let (pipeline, sender) = (PlayedRole(.pipeline), PlayedRole(.deliver))
        let lines = Mutex<[String]>([])
        let sink = LogStream(format: .text) { line in
            lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
        let logger = Logger(label: "test", level: .error, sink: sink)
        let host = host(pipeline, sender, logger: logger)
        let ended = Task { try await host.run() }
        sender.fail(.notAuthorized("Read on the topic"))
        await wait { !host.unready.isEmpty && !lines.withLock { $0.isEmpty } }
        #expect(host.unready == ["deliver: it has stopped: Read on the topic"])
        #expect(pipeline.shutdowns.load(ordering: .relaxed) == 0)
        let snapshot = metrics.snapshot()
        #expect(snapshot.value("carillon_role_stopped", labels: ["role": "deliver"]) == .gauge(1))
        #expect(snapshot.value("carillon_role_stopped", labels: ["role": "pipeline"]) == .gauge(0))
        #expect(lines.withLock { $0.first?.contains("deliver has stopped") ?? false })
        host.shutdown()
        await #expect(throws: PipelineError.notAuthorized("Read on the topic")) { try await ended.value }
    }

    @Test("a defect of one role drains the others, and is what the process ends with")
    func defect() async throws {
        let (pipeline, sender) = (PlayedRole(.pipeline), PlayedRole(.deliver))
        let host = host(pipeline, sender)
        let ended = Task { try await host.run() }
        sender.fail(.defect("a hang"))
        await #expect(throws: PipelineError.defect("a hang")) { try await ended.value }
        #expect(pipeline.shutdowns.load(ordering: .relaxed) == 1)
    }

    @Test("of several roles each reason says whose it is; of one alone it does not have to")
    func reasons() {
        let sender = PlayedRole(.deliver, unready: ["lane fcm has not begun to read"])
        sender.host.health.consumerIsHopeless(true, of: "lane fcm")
        sender.host.health.says("5 pushes/s")
        let both = host(PlayedRole(.pipeline), sender)
        #expect(both.unready == ["deliver: lane fcm has not begun to read"])
        #expect(both.stuck == ["deliver: lane fcm"])
        #expect(both.status == ["deliver: 5 pushes/s"])
        let alone = host(sender)
        #expect(alone.unready == ["lane fcm has not begun to read"] && alone.stuck == ["lane fcm"])
    }

    @Test("each role has series of its own in one registry, of whether it is ready and of the broker's clock")
    func ready() {
        let (pipeline, sender) = (PlayedRole(.pipeline), PlayedRole(.deliver, unready: ["no"]))
        metrics.observeReadiness(of: pipeline)
        metrics.observeReadiness(of: sender)
        sender.host.health.clockIsAhead(-90, of: "fcm")
        let snapshot = metrics.snapshot()
        #expect(snapshot.value("carillon_ready", labels: ["role": "pipeline"]) == .gauge(1))
        #expect(snapshot.value("carillon_ready", labels: ["role": "deliver"]) == .gauge(0))
        #expect(snapshot.value("carillon_broker_clock_seconds", labels: ["role": "pipeline"]) == .gauge(0))
        #expect(snapshot.value("carillon_broker_clock_seconds", labels: ["role": "deliver"]) == .gauge(-90))
    }
}
