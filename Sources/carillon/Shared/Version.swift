import KafkaClient

/// What `--version` prints.
enum Version {
    static let number = "0.1.0"
    /// Where the pages are; one of them is a file beside it.
    static let pages = "docs/README.md in the repository"
    static var text: String { "carillon \(number) (librdkafka \(LibraryVersions.librdkafka))" }
}
