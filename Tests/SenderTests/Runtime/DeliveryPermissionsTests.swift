import Hosting
import KafkaClient
import Pipeline
import Testing

@testable import Sender

@Suite("What a refusal says of the permission that a sender lacks")
struct DeliveryPermissionsTests {
    private func sentence(
        _ name: String, of client: KafkaError.Client = .member, topics: [String] = [], isOfReading: Bool = true,
        partition: TopicPartition? = nil
    ) throws -> String {
        var configuration = PipelineConfiguration(
            kafka: ["sasl.username": "u"], stateDirectory: "", rules: try ExtractionRules())
        configuration.groupID = "g"
        var error = KafkaError(
            kind: .authorization, recovery: .giveUp, of: client, name: name, message: "", partition: partition)
        error.topics = topics
        error.isOfReading = isOfReading
        return Permissions(deliveryOf: configuration).explained(error).description
    }

    @Test("a retry topic needs Read where it was read, and Write where it was written to")
    func retries() throws {
        let retry = TopicPartition(topic: "notifications.dispatch.retry.10s", partition: 0)
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", partition: retry)
                .contains("u needs Read on topic \(retry.topic); "))
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", of: .producer, isOfReading: false, partition: retry)
                .contains("u needs Write on topic \(retry.topic); "))
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", of: .reader, topics: ["notifications.deliveries"])
                .contains("u needs Write on topic notifications.deliveries; "))
    }

    @Test("a refused commit of offsets, also a producer's, may be about each topic that has some")
    func offsets() throws {
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED").contains(
                "--operation Read --topic notifications.dispatch --topic notifications.dispatch.retry.10s --topic "))
        let topics = ["notifications.dispatch", "notifications.dispatch.retry.10s"]
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", of: .producer, topics: topics).hasSuffix(
                "--operation Read --topic notifications.dispatch --topic notifications.dispatch.retry.10s "
                    + "(TOPIC_AUTHORIZATION_FAILED)"))
    }

    @Test("a group of any provider, and any transactional id, is granted by its prefix, as docs/topics.md has it")
    func prefixes() throws {
        #expect(
            try sentence("GROUP_AUTHORIZATION_FAILED").contains(
                "needs Read on the groups with the prefix g-delivery-; what grants it: kafka-acls.sh --add --allow-principal "
                    + "User:u --operation Read --group g-delivery- --resource-pattern-type prefixed"))
        #expect(
            try sentence("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", of: .producer).contains(
                "--operation Write --transactional-id g-delivery- --resource-pattern-type prefixed"))
    }
}
