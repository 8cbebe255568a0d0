import CRDKafka
import Glibc

/// The versions of the libraries that this process has loaded.
public enum LibraryVersions {
    /// `2.0.2`
    public static var librdkafka: String { String(cString: rd_kafka_version_str()) }

    /// The OpenSSL that librdkafka has loaded, `OpenSSL 3.0.17 1 Jul 2025`; "none" if librdkafka was built without it.
    public static var openSSL: String {
        typealias Version = @convention(c) (Int32) -> UnsafePointer<CChar>?
        guard let symbol = dlsym(nil, "OpenSSL_version") else { return "none" }
        return unsafeBitCast(symbol, to: Version.self)(0).map { String(cString: $0) } ?? "none"
    }
}
