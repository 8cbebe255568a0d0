import CRDKafka

extension KafkaError {
    /// From a bare code. `text` is librdkafka's own sentence, if it gave one.
    init(
        _ code: rd_kafka_resp_err_t, _ text: String = "", of client: Client? = nil, operation: String = "",
        partition: TopicPartition? = nil, saslMechanism: String? = nil
    ) {
        let kind = Kind(code)
        self.init(
            kind: kind, recovery: Recovery(code), of: client, name: String(cString: rd_kafka_err2name(code)),
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
        if kind == .authentication, let saslMechanism, saslMechanism.uppercased().hasPrefix("SCRAM") {
            return """
                Check sasl.username and sasl.password. With a Kafka 4 broker \(saslMechanism) fails in librdkafka 2.0.2 whatever the password is: \
                use sasl.mechanism=PLAIN over TLS (security.protocol=SASL_SSL) there
                """
        }
        // In small letters it is also in the address of each broker with TLS.
        if kind == .transport, text.contains("SSL") {
            return "Check security.protocol and the ssl settings"
        }
        return kind.traits.advice
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
