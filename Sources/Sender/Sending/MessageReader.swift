import JSONReader
import Time

/// Makes providers' requests of dispatch records. The parser's memory is reused; one owner.
struct MessageReader: ~Copyable {
    private var json = JSONReader()

    /// - Parameter endpoint: see ``Provider/endpoint(of:_:_:)``.
    mutating func request(
        _ record: LaneRecord, to endpoint: String, _ token: BearerToken, now: WallTime
    ) throws(MessageProblem) -> ProviderRequest {
        try record.platform.provider.request(of: record, to: endpoint, token, now: now, &json)
    }
}
