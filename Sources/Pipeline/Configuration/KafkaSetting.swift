import KafkaClient

/// librdkafka's own settings: `kafka.` and librdkafka's name in files and flags, `KAFKA_` in the environment.
package enum KafkaSetting {
    static let prefix = "kafka."

    /// The name under which a setting is kept, whichever of its names was used; nil where librdkafka has no such setting.
    static func name(_ text: String) -> String? { ClientSettings.names[text] }

    /// `KAFKA_BOOTSTRAP_SERVERS` → `bootstrap.servers`; nil where it is none of librdkafka's.
    static func name(variable: String) -> String? {
        name(variable.dropFirst("KAFKA_".count).lowercased().split(separator: "_").joined(separator: "."))
    }

    /// Passwords, keys, and whatever OAuth is given. Their values are never shown.
    package static func isSecret(_ name: String) -> Bool {
        name.contains("password") || name.hasPrefix("sasl.oauthbearer.") || name == "ssl.key.pem" || name == "ssl_key"
            || name.contains("secret")
    }

    /// What to do instead of giving a setting that the pipeline decides itself; nil where the user may give it.
    static func refusal(_ name: String) -> String? {
        owned[name].map { "it cannot be set: \($0)" }
    }

    /// Keyed by the names under which settings are kept; includes those that are settings of ours under another name.
    private static let owned: [String: String] = {
        let ours = ["session.timeout.ms": "use session.timeout", "transaction.timeout.ms": "use transaction.timeout"]
        let all = ClientSettings.owned.merging(ours) { _, ours in ours }
        return Dictionary(all.map { (ClientSettings.names[$0.key] ?? $0.key, $0.value) }) { first, _ in first }
    }()

    /// Why librdkafka would refuse the value; nil where it takes it. Never repeats a secret.
    static func problem(_ name: String, _ value: String) -> String? {
        guard let sentence = ClientSettings.problem(name, value) else { return nil }
        guard isSecret(name) else { return "'\(value)' is refused by librdkafka: \(sentence)" }
        return "librdkafka refuses the value" + (value.isEmpty || sentence.contains(value) ? "" : ": \(sentence)")
    }
}
