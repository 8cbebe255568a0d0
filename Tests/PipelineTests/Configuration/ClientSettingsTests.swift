import KafkaClient
import Notifications
import Testing

@testable import Pipeline

@Suite("The settings of the clients of a process")
struct ClientSettingsTests {
    private func configuration(_ kafka: Settings) throws -> PipelineConfiguration {
        var configuration = PipelineConfiguration(kafka: kafka, stateDirectory: "", rules: try ExtractionRules())
        configuration.sessionTimeout = .seconds(45)
        configuration.transactionTimeout = .seconds(20)
        return configuration
    }

    @Test("a consumer has the session's time-out and statistics; each of several queues its part of the limits")
    func consumer() throws {
        let one = try configuration(["client.id": "x"]).consumerSettings(queues: 1)
        #expect(one == ["client.id": "x", "session.timeout.ms": "45000", "statistics.interval.ms": "5000"])
        let given = try configuration(["statistics.interval.ms": "100", "queued.min.messages": "5"])
        let four = given.consumerSettings(queues: 4)
        let whole = try #require(ClientSettings.consumerDefaults["queued.max.messages.kbytes"].flatMap(Int.init))
        #expect(four["statistics.interval.ms"] == "100" && four["queued.min.messages"] == "1")
        #expect(four["queued.max.messages.kbytes"] == String(whole / 4))
        #expect(given.consumerSettings(queues: 8)["queued.min.messages"] == "1")
    }

    @Test("a transactional producer waits for a socket no longer than for its transaction, unless it is told otherwise")
    func producer() throws {
        var configuration = try configuration([:])
        #expect(
            configuration.transactionSettings == ["transaction.timeout.ms": "20000", "socket.timeout.ms": "10000"])
        configuration.transactionTimeout = .seconds(5)
        #expect(configuration.transactionSettings == ["transaction.timeout.ms": "5000", "socket.timeout.ms": "5000"])
        configuration.kafka["socket.timeout.ms"] = "300"
        #expect(configuration.transactionSettings["socket.timeout.ms"] == "300")
    }
}
