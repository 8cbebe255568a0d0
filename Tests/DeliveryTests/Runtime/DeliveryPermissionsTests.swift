import Hosting
import KafkaClient
import Pipeline
import Testing

@testable import Delivery

@Suite("What a refusal says of the permission that a sender lacks")
struct DeliveryPermissionsTests {
    private func sentence(_ name: String, operation: String = "", partition: TopicPartition? = nil) throws -> String {
        var configuration = PipelineConfiguration(
            kafka: ["sasl.username": "u"], stateDirectory: "", rules: try ExtractionRules())
        configuration.groupID = "g"
        let error = KafkaError(
            kind: .authorization, recovery: .giveUp, name: name, message: "", operation: operation, partition: partition
        )
        return Permissions(deliveryOf: configuration).explained(error).description
    }

    @Test("a retry topic needs Read where it was read, and Write where it was written to")
    func retries() throws {
        let retry = TopicPartition(topic: "notifications.dispatch.retry.10s", partition: 0)
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", operation: "consume", partition: retry)
                .contains("u needs Read on topic \(retry.topic); "))
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", operation: "produce", partition: retry)
                .contains("u needs Write on topic \(retry.topic); "))
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", operation: "metadata of notifications.deliveries")
                .contains("u needs Write on topic notifications.deliveries; "))
    }

    @Test("a refused commit of offsets may be about each topic that a lane reads")
    func offsets() throws {
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", operation: "send_offsets").contains(
                "--operation Read --topic notifications.dispatch --topic notifications.dispatch.retry.10s --topic "))
    }

    @Test("a group of any lane, and any transactional id, is granted by its prefix, as docs/topics.md has it")
    func prefixes() throws {
        #expect(
            try sentence("GROUP_AUTHORIZATION_FAILED").contains(
                "needs Read on the groups with the prefix g-delivery; what grants it: kafka-acls.sh --add --allow-principal "
                    + "User:u --operation Read --group g-delivery --resource-pattern-type prefixed"))
        #expect(
            try sentence("TRANSACTIONAL_ID_AUTHORIZATION_FAILED").contains(
                "--operation Write --transactional-id g-delivery- --resource-pattern-type prefixed"))
    }
}
