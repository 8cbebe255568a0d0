import CRDKafka
import Synchronization

extension Admin {
    /// The approximate release of the brokers: `4.0 or newer`, `3.9`; nil if no broker answers in time.
    ///
    /// The protocol does not name the release, only the supported versions of each request, and librdkafka reports
    /// those only in its log. So this creates a separate client and reads its log. The broker that answers stands for
    /// all.
    public func brokerVersion(timeout: Duration = .seconds(10)) -> String? {
        let fetch = FetchVersions()
        let settings = handle.settings.merging(["debug": "feature"]) { $1 }
        guard
            let listener = try? ClientHandle(
                .admin, settings: settings, callbacks: ClientCallbacks(sink: { fetch.read($0.message) }))
        else { return nil }
        var answer: UnsafePointer<rd_kafka_metadata>?
        if rd_kafka_metadata(listener.pointer, 0, nil, &answer, timeout.milliseconds) == RD_KAFKA_RESP_ERR_NO_ERROR {
            rd_kafka_metadata_destroy(answer)
        }
        return fetch.release
    }
}

/// The versions of Fetch that a broker supports; nearly every release raised the highest.
final class FetchVersions: Sendable {
    private let versions = Mutex<ClosedRange<Int>?>(nil)

    /// Reads a line like `…: ApiKey Fetch (1) Versions 4..18`.
    func read(_ line: String) {
        guard line.contains("ApiKey Fetch (1) Versions "), let last = line.split(separator: " ").last else { return }
        let numbers = last.split(separator: ".").compactMap { Int($0) }
        guard numbers.count == 2, numbers[0] <= numbers[1] else { return }
        versions.withLock { $0 = numbers[0]...numbers[1] }
    }

    var release: String? {
        guard let versions = versions.withLock({ $0 }) else { return nil }
        // 4.0 dropped the request versions from before 2.1.
        if versions.lowerBound >= 4 { return "4.0 or newer" }
        switch versions.upperBound {
        case 17...: return "3.9"
        case 16: return "3.7 or 3.8"
        case 14...15: return "3.5 or 3.6"
        case 13: return "3.1 to 3.4"
        case 12: return "2.7 to 3.0"
        case 11: return "2.3 to 2.6"
        default: return "older than 2.3"
        }
    }
}
