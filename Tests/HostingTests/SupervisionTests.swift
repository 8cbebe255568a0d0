import Dispatch
import KafkaClient
import Synchronization
import Telemetry
import Testing

@testable import Hosting

@Suite("The supervision of a role's threads", .timeLimit(.minutes(30)))
struct SupervisionTests {
    private struct Silent: StatusLine {
        var reading: Int { 0 }
        func line(from last: Int, to now: Int, in time: Duration) -> String? { nil }
        func total(_ now: Int, in time: Duration) -> String { "ended" }
    }

    private struct Broken: Error {}

    private let start = ContinuousClock.now
    private let host: RoleHost
    private let crew = Crew()

    init() {
        host = RoleHost(clock: PipelineClock(wall: 1_000_000, began: start))
    }

    /// - Parameter brokers: which a long call makes it ask.
    private func supervision(_ brokers: String = "") -> Supervision {
        let terms = Supervision.Terms(
            drains: "drains", drainTimeout: .seconds(10), notDrained: "not drained", longestCall: .seconds(140),
            kafka: ["bootstrap.servers": brokers])
        return Supervision(host, crew, terms, Logger(label: "test", level: .critical))
    }

    /// A look at this time, while the wall clock is ahead of the role's by so many seconds.
    private func look(
        _ supervision: inout Supervision, after time: Duration, ahead: Int64 = 0
    ) throws {
        let now = start + time
        try supervision.look(now: now, wall: host.clock.now(now) + ahead * 1_000)
    }

    @Test("a wall clock that is set makes the role unready, and ready again; once it has stayed, it is followed")
    func clock() throws {
        var supervision = supervision()
        try look(&supervision, after: .seconds(1), ahead: 3_600)
        #expect(host.clock.isOff == 3_600)
        try look(&supervision, after: .seconds(2))
        #expect(host.clock.isOff == nil)
        try look(&supervision, after: .seconds(3), ahead: -90)
        #expect(host.clock.isOff == -90)
        try look(&supervision, after: .seconds(12), ahead: -90)
        #expect(host.clock.changes == 0)
        let before = host.clock.now(start)
        try look(&supervision, after: .seconds(13), ahead: -90)
        #expect(host.clock.isOff == nil)
        #expect(host.clock.changes == 1)
        #expect(host.clock.now(start) == before - 90_000)
    }

    @Test("whoever is in a transaction call for too long ends the process, by name, while a broker answers")
    func hang() throws {
        let cluster = try MockCluster()
        var supervision = supervision(cluster.bootstrapServers)
        host.calls.enter("lane fcm", now: start)
        try look(&supervision, after: .seconds(140))
        #expect(host.health.away == nil)
        #expect(throws: PipelineError.defect("lane fcm has hung in a transaction call for more than 140.0 seconds")) {
            try look(&supervision, after: .seconds(145))
        }
        host.calls.leave("lane fcm")
        try look(&supervision, after: .seconds(150))
    }

    @Test("while no broker answers a call may take hours, and the role is not ready; then the call has its time")
    func absentBroker() throws {
        let cluster = try MockCluster()
        try cluster.setBrokerDown(1)
        var supervision = supervision(cluster.bootstrapServers)
        host.calls.enter("lane fcm", now: start)
        try look(&supervision, after: .seconds(5))
        #expect(host.health.away == nil, "a commit may take so long")
        for hour in 1...3 {
            try look(&supervision, after: .seconds(hour * 3_600))
            #expect(host.health.away != nil)
        }
        try cluster.setBrokerUp(1)
        // Each question has a second, and the client connects meanwhile.
        for question in 1...20 where host.health.away != nil {
            try look(&supervision, after: .seconds(3 * 3_600 + 5 * question))
        }
        #expect(host.health.away == nil)
        #expect(throws: PipelineError.self) { try look(&supervision, after: .seconds(4 * 3_600)) }
    }

    @Test("what no broker has answered is forgotten once no call takes long")
    func endOfCall() throws {
        let cluster = try MockCluster()
        try cluster.setBrokerDown(1)
        var supervision = supervision(cluster.bootstrapServers)
        host.calls.enter("lane fcm", now: start)
        try look(&supervision, after: .seconds(6))
        #expect(host.health.away != nil)
        host.calls.leave("lane fcm")
        try look(&supervision, after: .seconds(7))
        #expect(host.health.away == nil)
    }

    @Test("a drain has a deadline; after it the threads are told to stop")
    func deadline() throws {
        var supervision = supervision()
        try look(&supervision, after: .seconds(1))
        host.drain()
        try look(&supervision, after: .seconds(2))
        try look(&supervision, after: .seconds(12))
        #expect(!host.mustStop)
        #expect(throws: PipelineError.notDrained("not drained")) { try look(&supervision, after: .seconds(13)) }
        #expect(host.mustStop)
    }

    @Test("one thread's failure drains the others, and is what the role ends with")
    func failure() throws {
        let release = DispatchSemaphore(value: 0)
        crew.start("one") { throw Broken() }
        crew.start("other") { [host] in
            while !host.mustEnd { _ = release.wait(timeout: .now() + 0.01) }
        }
        var supervision = supervision()
        #expect(throws: Broken.self) { try supervision.untilAllHaveEnded(Silent()) }
    }

    /// Notes when it leaves its group.
    private struct Member: ~Copyable, GroupWorker {
        final class Log: Sendable {
            let left = Mutex<Set<String>>([])
        }

        let name: String
        let log: Log

        mutating func run() throws { if name == "fails" { throw Broken() } }

        consuming func close() { _ = log.left.withLock { $0.insert(name) } }
    }

    @Test("a worker leaves its group, whether it ends by itself or fails")
    func workersClose() {
        let log = Member.Log()
        for name in ["ends", "fails"] { crew.start(name, with: { Member(name: name, log: log) }) }
        while !crew.isEmpty { crew.wait(seconds: 0.2) }
        #expect(log.left.withLock { $0 } == ["ends", "fails"])
        #expect(crew.failure is Broken)
    }
}
