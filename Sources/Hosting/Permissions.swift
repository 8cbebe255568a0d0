import KafkaClient

/// Says which permission a refused request lacks and what grants it. docs/topics.md, "ACLs", lists them all.
package struct Permissions: Sendable {
    /// Whose names may stand for all that begin with them.
    package struct Resource: Sendable {
        private let name: String
        private let isPrefix: Bool

        package static func named(_ name: String) -> Self { Self(name: name, isPrefix: false) }

        package static func prefix(_ name: String) -> Self { Self(name: name, isPrefix: true) }

        fileprivate func permission(to operation: String, on kind: String, flag: String) -> Permission {
            Permission(
                operation: operation, kind: isPrefix ? "the \(kind)s with the prefix" : kind, names: [name],
                flags: " \(flag) \(name)" + (isPrefix ? " --resource-pattern-type prefixed" : ""))
        }
    }

    private let principal: String
    private let group: Resource
    private let transactionalIDs: Resource
    private let committed: [String]
    private let read: [String]
    private let written: [String]

    /// - Parameters:
    ///   - settings: of the clients.
    ///   - committed: the topics that are read and whose offsets are committed.
    ///   - followed: the topics that are only read.
    ///   - written: the topics that are written to.
    package init(
        _ settings: Settings, group: Resource, transactionalIDs: Resource, committed: [String], followed: [String] = [],
        written: [String]
    ) {
        // The broker makes the principal of a certificate.
        principal = "User:" + (settings["sasl.username"] ?? "<principal>")
        self.group = group
        self.transactionalIDs = transactionalIDs
        self.committed = committed
        read = committed + followed
        self.written = written
    }

    /// The error with a sentence for an operator, if it is about a permission; any other unchanged.
    package func explained(_ error: KafkaError) -> KafkaError {
        guard error.kind == .authorization, let missing = missing(error) else { return error }
        var explained = error
        explained.message =
            "\(principal) needs \(missing.operation) on \(missing.kind) \(missing.names.joined(separator: ", ")); "
            + "what grants it: kafka-acls.sh --add --allow-principal \(principal) --operation \(missing.operation)\(missing.flags)"
        explained.operation = ""
        explained.partition = nil
        return explained
    }

    fileprivate struct Permission {
        var operation: String
        /// As the sentence calls it.
        var kind: String
        var names: [String]
        var flags: String
    }

    private func missing(_ error: KafkaError) -> Permission? {
        switch error.name {
        case "GROUP_AUTHORIZATION_FAILED":
            // Who commits nothing only looks at it.
            return group.permission(to: committed.isEmpty ? "Describe" : "Read", on: "group", flag: "--group")
        case "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
            return transactionalIDs.permission(to: "Write", on: "transactional id", flag: "--transactional-id")
        case "TOPIC_AUTHORIZATION_FAILED": return permission(onTopicsOf: error)
        // A producer without transactions may begin where it may write to any topic.
        case "CLUSTER_AUTHORIZATION_FAILED" where error.client == .producer: return permission(onTopicsOf: error)
        default: return nil
        }
    }

    private func permission(onTopicsOf error: KafkaError) -> Permission {
        let names = topicNames(error)
        let isRead = names.allSatisfy { read.contains($0) && (error.isOfReading || !written.contains($0)) }
        return Permission(
            operation: isRead ? "Read" : "Write",
            kind: names.count > 1 ? "each of the topics" : "topic", names: names,
            flags: names.map { " --topic \($0)" }.joined())
    }

    /// The topics that the error names; a transaction's error names none, and may be about each that it writes to, one of
    /// offsets about each that has some.
    private func topicNames(_ error: KafkaError) -> [String] {
        if let topic = error.partition?.topic { return [topic] }
        guard error.topics.isEmpty else { return error.topics }
        return error.isOfReading ? committed : written
    }
}
