import KafkaClient

/// What `--version` prints.
enum Version {
    static let number = "0.1.0"
    static var text: String { "carillon \(number) (librdkafka \(LibraryVersions.librdkafka))" }
}
