import KafkaClient
import Testing

@testable import Extraction
@testable import Pipeline

@Suite("What a refusal says of the permission that is missing")
struct PermissionsTests {
    private func sentence(
        _ name: String, operation: String = "", partition: TopicPartition? = nil, kind: KafkaError.Kind = .authorization
    ) throws -> String {
        var configuration = PipelineConfiguration(
            kafka: ["sasl.username": "u"], stateDirectory: "/tmp/x", rules: try ExtractionRules())
        configuration.groupID = "g"
        let error = KafkaError(
            kind: kind, recovery: .giveUp, name: name, message: "librdkafka's", operation: operation,
            partition: partition)
        return Permissions(configuration).explained(error).description
    }

    @Test("a topic that is read needs Read, one that is written needs Write, and the error names it")
    func topic() throws {
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", operation: "metadata of orders.events")
                == "User:u needs Read on topic orders.events; what grants it: kafka-acls.sh --add --allow-principal User:u "
                + "--operation Read --topic orders.events (TOPIC_AUTHORIZATION_FAILED)")
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", operation: "metadata of notifications.journal")
                .contains("needs Write on topic notifications.journal; "))
        let subscriptions = TopicPartition(topic: "notifications.subscriptions", partition: 3)
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", operation: "consume", partition: subscriptions)
                .contains("needs Read on topic notifications.subscriptions; "))
    }

    @Test("offsets are the events'; a transaction that names no topic may have been refused each that it writes to")
    func unnamedTopic() throws {
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", operation: "commit").contains(
                "needs Read on topic orders.events; "))
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", operation: "transaction").contains(
                "--operation Write --topic notifications.dispatch --topic notifications.dead-letters --topic notifications.journal"
            ))
    }

    @Test("groups and transactional ids")
    func others() throws {
        #expect(
            try sentence("GROUP_AUTHORIZATION_FAILED").contains("needs Read on group g; ")
                && sentence("GROUP_AUTHORIZATION_FAILED").contains("--operation Read --group g "))
        #expect(
            try sentence("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", operation: "init_transactions").contains(
                "--operation Write --transactional-id g. --resource-pattern-type prefixed "))
    }

    @Test("any other error stays as it is")
    func other() throws {
        #expect(
            try sentence("_TRANSPORT", operation: "commit", kind: .transport) == "commit: librdkafka's (_TRANSPORT)")
    }
}
