/// librdkafka's settings by librdkafka's names.
public typealias Settings = [String: String]

/// Which settings a client gets: what we own, then the user's, then our defaults.
public enum ClientSettings {
    /// Settings that the user cannot set, each with the name of ours or the reason. Giving one is a configuration error.
    public static let owned: [String: String] = [:]

    /// A consumer in a group. Source: kafka-rules, "Settings".
    public static let consumerDefaults: Settings = [:]

    /// A producer. Source: kafka-rules, "Settings".
    public static let producerDefaults: Settings = [:]
}
