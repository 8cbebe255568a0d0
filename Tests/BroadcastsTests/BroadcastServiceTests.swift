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
        await #expect(
            throws: PipelineError.decisionNeeded(
                "topic.broadcasts is not set: there is nothing to send; the usual name is notifications.broadcasts")
        ) {
            try await service.run()
        }
    }
}
