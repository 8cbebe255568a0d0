import KafkaClient

/// Says which permission a refused request lacks and what grants it. docs/topics.md, "ACLs", lists them all.
struct Permissions: Sendable {
    private let group: String
    private let topics: PipelineConfiguration.Topics
    private let principal: String

    init(_ configuration: PipelineConfiguration) {
        group = configuration.groupID
        topics = configuration.topics
        // The broker makes the principal of a certificate.
        principal = "User:" + (configuration.kafka["sasl.username"] ?? "<principal>")
    }

    /// The error with a sentence for an operator, if it is about a permission; any other unchanged.
    func explained(_ error: KafkaError) -> KafkaError {
        guard error.kind == .authorization, let missing = missing(error) else { return error }
        var explained = error
        explained.message =
            "\(principal) needs \(missing.operation) on \(missing.kind) \(missing.names.joined(separator: ", ")); "
            + "what grants it: kafka-acls.sh --add --allow-principal \(principal) --operation \(missing.operation)\(missing.flags)"
        explained.operation = ""
        explained.partition = nil
        return explained
    }

    private struct Permission {
        var operation: String
        /// As the sentence calls it.
        var kind: String
        var names: [String]
        var flags: String
    }

    private func missing(_ error: KafkaError) -> Permission? {
        switch error.name {
        case "GROUP_AUTHORIZATION_FAILED":
            return Permission(operation: "Read", kind: "group", names: [group], flags: " --group \(group)")
        case "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
            return Permission(
                operation: "Write", kind: "the transactional ids with the prefix", names: ["\(group)."],
                flags: " --transactional-id \(group). --resource-pattern-type prefixed")
        case "TOPIC_AUTHORIZATION_FAILED":
            let names = topicNames(error)
            let isRead = names.allSatisfy { $0 == topics.events || $0 == topics.subscriptions }
            return Permission(
                operation: isRead ? "Read" : "Write", kind: names.count > 1 ? "each of the topics" : "topic",
                names: names,
                flags: names.map { " --topic \($0)" }.joined())
        default: return nil
        }
    }

    /// The topic that the error names; a transaction's error names none, and may be about each that it writes to.
    private func topicNames(_ error: KafkaError) -> [String] {
        let outputs = [topics.dispatch, topics.deadLetters, topics.journal]
        if let topic = error.partition?.topic { return [topic] }
        if let topic = ([topics.events, topics.subscriptions] + outputs).first(where: error.operation.hasSuffix) {
            return [topic]
        }
        return Self.consuming.contains(error.operation) ? [topics.events] : outputs
    }

    private static let consuming: Set<String> = ["", "commit", "committed", "consume", "send_offsets"]
}
