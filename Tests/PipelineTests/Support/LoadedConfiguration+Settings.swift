@testable import Pipeline

extension LoadedConfiguration {
    /// A broker, a home folder and these settings, as flags give them.
    static func of(_ values: [String: String]) -> LoadedConfiguration {
        var loader = ConfigurationLoader()
        loader.flags = values.map { .init(name: "--set", key: $0.key, value: $0.value) }
        loader.environment = ["HOME": "/home/test", "KAFKA_BOOTSTRAP_SERVERS": "broker:9092"]
        return loader.load()
    }
}
