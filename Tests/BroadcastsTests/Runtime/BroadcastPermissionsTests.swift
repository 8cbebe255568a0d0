import Hosting
import KafkaClient
import Pipeline
import Testing

@testable import Broadcasts

@Suite("What a refusal says of the permission that broadcasts lack")
struct BroadcastPermissionsTests {
    private func sentence(_ name: String, topics: [String] = []) throws -> String {
        var configuration = PipelineConfiguration(
            kafka: ["sasl.username": "u"], stateDirectory: "", rules: try ExtractionRules())
        configuration.groupID = "g"
        configuration.topics.broadcasts = "notifications.broadcasts"
        var error = KafkaError(kind: .authorization, recovery: .giveUp, of: .reader, name: name, message: "")
        error.topics = topics
        return Permissions(broadcastsOf: configuration).explained(error).description
    }

    @Test("both topics that are read need Read, the others Write; the offsets are those of the subscriptions")
    func topics() throws {
        for topic in ["notifications.broadcasts", "notifications.subscriptions"] {
            #expect(
                try sentence("TOPIC_AUTHORIZATION_FAILED", topics: [topic])
                    .contains("u needs Read on topic \(topic); "))
        }
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", topics: ["notifications.dispatch.broadcasts"])
                .contains("u needs Write on topic notifications.dispatch.broadcasts; "))
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED")
                .contains("u needs Read on topic notifications.subscriptions; "))
        #expect(try sentence("GROUP_AUTHORIZATION_FAILED").contains("u needs Read on group g-broadcasts; "))
    }
}
