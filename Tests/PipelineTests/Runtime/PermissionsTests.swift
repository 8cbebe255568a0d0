import KafkaClient
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("What a refusal says of the permission that is missing")
struct PermissionsTests {
    private func sentence(
        _ name: String, of client: KafkaError.Client = .member, topics: [String] = [], partition: TopicPartition? = nil
    ) throws -> String {
        var configuration = PipelineConfiguration(
            kafka: ["sasl.username": "u"], stateDirectory: "/tmp/x", rules: try ExtractionRules())
        configuration.groupID = "g"
        var error = KafkaError(
            kind: .authorization, recovery: .giveUp, of: client, name: name, message: "librdkafka's",
            partition: partition)
        error.topics = topics
        return Permissions(configuration).explained(error).description
    }

    @Test("a topic that is read needs Read, one that is written needs Write, and the error names it")
    func topic() throws {
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", of: .reader, topics: ["orders.events"])
                == "User:u needs Read on topic orders.events; what grants it: kafka-acls.sh --add --allow-principal User:u "
                + "--operation Read --topic orders.events (TOPIC_AUTHORIZATION_FAILED)")
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", of: .reader, topics: ["notifications.journal"])
                .contains("needs Write on topic notifications.journal; "))
        let subscriptions = TopicPartition(topic: "notifications.subscriptions", partition: 3)
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", partition: subscriptions)
                .contains("needs Read on topic notifications.subscriptions; "))
    }

    @Test("offsets are the events'; a transaction that names no topic may have been refused each that it writes to")
    func unnamedTopic() throws {
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED").contains(
                "needs Read on topic orders.events; "))
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", of: .producer).contains(
                "--operation Write --topic notifications.dispatch --topic notifications.dead-letters --topic notifications.journal"
            ))
    }

    @Test("groups and transactional ids")
    func others() throws {
        #expect(
            try sentence("GROUP_AUTHORIZATION_FAILED").contains("needs Read on group g; ")
                && sentence("GROUP_AUTHORIZATION_FAILED").contains("--operation Read --group g "))
        #expect(
            try sentence("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", of: .producer).contains(
                "--operation Write --transactional-id g. --resource-pattern-type prefixed "))
    }

    @Test("any other error stays as it is")
    func other() throws {
        let error = KafkaError(
            kind: .transport, recovery: .retry, of: .member, name: "GROUP_AUTHORIZATION_FAILED", message: "m")
        let configuration = PipelineConfiguration(kafka: [:], stateDirectory: "/tmp/x", rules: try ExtractionRules())
        #expect(Permissions(configuration).explained(error) == error)
    }
}
