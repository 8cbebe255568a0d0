import Telemetry
import Testing

@testable import Hosting
@testable import Notifications
@testable import Pipeline

@Suite("Readiness: what a pipeline waits for")
struct ReadinessTests {
    private let host = RoleHost()

    private func board(workers: Int = 2, started: Bool = true) -> ReadinessBoard {
        let board = ReadinessBoard(workers: workers)
        if started { board.started() }
        return board
    }

    private func reasons(_ board: ReadinessBoard, tableBehind: Readiness.Reason? = nil) -> [Readiness.Reason] {
        board.readiness(host, tableBehind: tableBehind).reasons
    }

    @Test("a clock that differs from the broker's is told by how much, and in which direction")
    func clockAhead() {
        #expect(Readiness.Reason.clockAhead(seconds: 7_200).description == "the clock is 7200 s ahead of the broker's")
        #expect(Readiness.Reason.clockAhead(seconds: -90).description == "the clock is 90 s behind the broker's")
    }

    @Test("before run() a pipeline is not running, and its gauge says 0")
    func notRunning() throws {
        let metrics = Metrics()
        let configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": "127.0.0.1:1"], stateDirectory: "/nonexistent", rules: try ExtractionRules())
        let pipeline = NotificationPipeline(configuration: configuration, metrics: metrics)
        #expect(pipeline.readiness == Readiness(reasons: [.notRunning]))
        #expect(!pipeline.readiness.isReady)
        #expect(metrics.snapshot().value("carillon_ready", labels: ["role": "pipeline"]) == .gauge(0))
    }

    @Test("until the broker has answered it is starting, and says what the broker did not answer")
    func starting() {
        let board = board(started: false)
        #expect(reasons(board) == [.starting])
        host.health.waitUnanswered("no route")
        #expect(reasons(board) == [.brokerAway("no route"), .starting])
    }

    @Test("every worker needs an assignment and a position; more workers than partitions are ready")
    func workers() {
        let board = board()
        #expect(reasons(board) == [.noAssignment(workers: [0, 1])])
        board.set(.positioning, worker: 0)
        #expect(reasons(board) == [.noAssignment(workers: [1]), .noPosition(workers: [0])])
        board.set(.reading, worker: 0)
        board.set(.refolding, worker: 1)
        #expect(reasons(board) == [.refolding(workers: [1])])
        board.set(.reading, worker: 1)
        #expect(reasons(board) == [])
        board.set(.joining, worker: 1)
        #expect(reasons(board) == [.noAssignment(workers: [1])])
    }

    @Test("the broker is unreachable while the follower or a worker gets no answer, and back when either gets one")
    func broker() {
        let board = board(workers: 1)
        board.set(.reading, worker: 0)
        host.health.brokersAreDown("timed out", of: TableFollower.name)
        host.health.brokersAreDown(nil, of: "worker 0")
        #expect(reasons(board) == [.brokerAway("timed out")])
        host.health.topicAnswers()
        #expect(reasons(board) == [])
        host.health.brokersAreDown("all down", of: "worker 0")
        #expect(reasons(board) == [.brokerAway("all down")])
        host.health.brokersAreDown(nil, of: "worker 0")
        #expect(reasons(board) == [])
        host.health.brokersAreDown("all down", of: "worker 0")
        host.health.topicAnswers()
        #expect(reasons(board) == [])
    }

    @Test("a table that catches up is a reason, a drain is the only one, and after the end nothing runs")
    func tableAndEnd() {
        let board = board()
        board.set(.reading, worker: 0)
        board.set(.reading, worker: 1)
        #expect(reasons(board, tableBehind: .tableBehind(records: 7)) == [.tableBehind(records: 7)])
        host.health.brokersAreDown("timed out", of: TableFollower.name)
        host.drain()
        #expect(reasons(board) == [.draining])
        board.ended()
        #expect(reasons(board) == [.notRunning])
    }

    @Test("a reason is a sentence for a person")
    func sentences() {
        #expect("\(Readiness.Reason.noAssignment(workers: [3]))" == "no assignment yet: worker 3")
        #expect("\(Readiness.Reason.noPosition(workers: [0, 2]))" == "no position to read from yet: workers 0, 2")
        let behind = Readiness.Reason.tableBehind(records: 12)
        #expect("\(behind)" == "the subscriptions table is catching up: 12 records behind")
    }
}
