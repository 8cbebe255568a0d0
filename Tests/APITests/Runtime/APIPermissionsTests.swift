import Hosting
import KafkaClient
import Pipeline
import Testing

@testable import API

@Suite("API: what a refusal says of the permission that is missing") struct APIPermissionsTests {
    private func sentence(
        _ name: String, of client: KafkaError.Client = .reader, topics: [String] = [], commands: String = ""
    ) throws -> String {
        var configuration = PipelineConfiguration(
            kafka: ["sasl.username": "u"], stateDirectory: "", rules: try ExtractionRules())
        configuration.groupID = "g"
        configuration.instanceID = "i"
        configuration.topics.requests = "notifications.requests"
        configuration.topics.broadcasts = "notifications.broadcasts"
        configuration.topics.commands = commands
        configuration.api.events = true
        var error = KafkaError(kind: .authorization, recovery: .giveUp, of: client, name: name, message: "")
        error.topics = topics
        return Permissions(apiOf: configuration).explained(error).description
    }

    @Test("a topic that is read and written needs what was refused; the events need Write")
    func topics() throws {
        let topics = ["notifications.requests"]
        #expect(try sentence("TOPIC_AUTHORIZATION_FAILED", topics: topics).contains("u needs Read on topic "))
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", of: .producer, topics: topics)
                .contains("u needs Write on topic "))
        #expect(
            try sentence("TOPIC_AUTHORIZATION_FAILED", of: .producer, topics: ["orders.events"])
                .contains("u needs Write on topic orders.events; "))
    }

    @Test("the groups of other roles are only looked at; the transactional id is the process's")
    func others() throws {
        #expect(try sentence("GROUP_AUTHORIZATION_FAILED").contains("u needs Describe on group g-broadcasts; "))
        #expect(
            try sentence("GROUP_AUTHORIZATION_FAILED", commands: "notifications.commands")
                .contains("u needs Describe on the groups with the prefix g-; "))
        #expect(
            try sentence("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", of: .producer)
                .contains("u needs Write on transactional id g-api-i; "))
    }
}
