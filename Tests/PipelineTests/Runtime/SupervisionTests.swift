import Foundation
import KafkaClient
import Telemetry
import TestSupport
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("The end of a pipeline whose threads do not end", .timeLimit(.minutes(30)))
struct SupervisionTests {
    @Test("the state folder stays locked after a drain that took too long, until the last thread has ended")
    func lockOutlivesTheDrain() async throws {
        let cluster = try MockCluster()
        let folder = TemporaryFolder()
        let configuration = try PipelineConfiguration.onMock(cluster, folder)
        let resolver = WaitingResolver()
        let pipeline = NotificationPipeline(configuration: configuration, resolver: resolver, logger: .silent)
        let running = Task { try await pipeline.run() }
        try cluster.write([OrderEvent.created], to: configuration.topics.events)
        await resolver.isAsked()
        pipeline.shutdown()
        let error = await #expect(throws: PipelineError.self) { try await running.value }
        guard case .notDrained = error else {
            Issue.record("\(String(describing: error))")
            return
        }

        #expect(throws: PipelineError.self) { _ = try StateFolder(path: folder.path) }
        resolver.goOn()
        try await eventually("the lock to be free") { (try? StateFolder(path: folder.path)) != nil }
    }
}

/// Keeps its worker waiting, as a host's resolver whose database does not answer.
private final class WaitingResolver: TokenResolver {
    private let asked = AsyncStream<Void>.makeStream()
    private let released = DispatchSemaphore(value: 0)

    func isAsked() async {
        for await _ in asked.stream { return }
    }

    func goOn() { released.signal() }

    func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) throws {
        asked.continuation.yield()
        released.wait()
        // Releases the thread that still waits.
        released.signal()
    }
}
