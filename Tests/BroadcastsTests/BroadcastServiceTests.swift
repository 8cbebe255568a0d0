import Hosting
import Pipeline
import TestSupport
import Testing

@testable import Broadcasts

@Suite("BroadcastService")
struct BroadcastServiceTests {
    @Test("without topic.broadcasts it says which setting is missing")
    func noTopic() async throws {
        let configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": "127.0.0.1:1"], stateDirectory: TemporaryFolder().path, rules: try .init())
        let service = BroadcastService(configuration: configuration)
        #expect(service.unready == ["it is not running"])
        let now = ContinuousClock.now
        let (clock, logger) = (service.host.clock, Logger(label: "test", level: .critical))
        clock.compare(with: clock.now(now) + -61_000, now: now, logger)
        #expect(service.unready == ["the wall clock is off by -61 s", "it is not running"])
        service.host.health.consumerIsHopeless(true, of: "worker a-0")
        #expect(service.liveness.stuck == ["worker a-0"])
        await #expect(
            throws: PipelineError.decisionNeeded(
                "topic.broadcasts is not set: there is nothing to send; the usual name is notifications.broadcasts")
        ) {
            try await service.run()
        }
    }

    @Test("a worker that still waits for its broker is one that has not begun to read")
    func workersThatWait() {
        let board = BroadcastBoard(workers: 2)
        board.set(BroadcastBoard.Worker(partitions: 3, isReading: true, passes: 1), of: 1)
        #expect(board.all.map(\.isReading) == [false, true])
        #expect(board.total.partitions == 3)
        #expect(board.total.passes == 1)
    }
}
