import CRDKafka

extension KafkaError {
    /// From a bare code. `text` is librdkafka's own sentence, if it gave one.
    init(
        _ code: rd_kafka_resp_err_t, _ text: String = "", operation: String = "", partition: TopicPartition? = nil,
        saslMechanism: String? = nil
    ) {
        let kind = Kind(code)
        self.init(
            kind: kind, recovery: Recovery(code), name: String(cString: rd_kafka_err2name(code)),
            message: Self.sentence(kind, text.isEmpty ? String(cString: rd_kafka_err2str(code)) : text, saslMechanism),
            operation: operation, partition: partition)
    }

    /// librdkafka's sentence, and what an operator can do, where that is not obvious.
    static func sentence(_ kind: Kind, _ text: String, _ saslMechanism: String?) -> String {
        let text = tidied(text)
        guard let advice = advice(kind, text, saslMechanism) else { return text }
        return "\(text). \(advice)"
    }

    /// Without librdkafka's "(after 336ms in state AUTH_REQ, 1 identical error(s) suppressed)" and its final stop.
    private static func tidied(_ text: String) -> String {
        var text = Substring(text)
        if text.hasSuffix(")"), let start = text.lastStart(of: " (after ") { text = text[..<start] }
        return String(text.hasSuffix(".") ? text.dropLast() : text)
    }

    private static func advice(_ kind: Kind, _ text: String, _ saslMechanism: String?) -> String? {
        switch kind {
        case .authentication:
            if let saslMechanism, saslMechanism.uppercased().hasPrefix("SCRAM") {
                return """
                    Check sasl.username and sasl.password. With a Kafka 4 broker \(saslMechanism) fails in librdkafka 2.0.2 whatever the password is: \
                    use sasl.mechanism=PLAIN over TLS (security.protocol=SASL_SSL) there
                    """
            }
            return "Check security.protocol, sasl.mechanism, sasl.username and sasl.password"
        case .authorization: return "Ask the cluster's operator for an ACL that allows it"
        case .unknownTopicOrPartition: return "Check the topic's name, and create it if it is missing"
        case .allBrokersDown: return "Check bootstrap.servers and that a broker listens there"
        case .tls:
            return
                "Check security.protocol and ssl.ca.location, and that the broker's certificate is in date and names its host"
        case .fenced:
            return
                "Another producer has the same transactional.id, or this producer's transaction was open for longer than transaction.timeout.ms"
        case .fencedInstanceID: return "Another process runs with the same group.instance.id"
        case .messageTooLarge: return "Compare message.max.bytes here with max.message.bytes of the topic"
        case .offsetMetadataTooLarge: return "The broker's limit is offset.metadata.max.bytes"
        case .offsetOutOfRange: return "The log no longer holds the offset to read from"
        case .maxPollExceeded: return "The owner did not poll for longer than max.poll.interval.ms"
        case .transport where text.contains("SSL") || text.contains("ssl"):
            return "Check security.protocol and the ssl settings"
        case .invalidRecord, .outOfSequence, .queueFull, .timedOut, .transport, .unknownMember, .rebalanceInProgress,
            .purged, .topicAlreadyExists, .configuration, .unsupported, .state, .other:
            return nil
        }
    }

    static func configuration(_ message: String, operation: String = "") -> KafkaError {
        KafkaError(kind: .configuration, recovery: .giveUp, name: "", message: message, operation: operation)
    }
}

extension Substring {
    /// Where the last occurrence of `other` starts.
    fileprivate func lastStart(of other: String) -> Index? {
        var index = endIndex
        while index > startIndex {
            index = self.index(before: index)
            if self[index...].hasPrefix(other) { return index }
        }
        return nil
    }
}
