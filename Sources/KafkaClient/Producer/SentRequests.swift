import CRDKafka
import Synchronization

/// Counts those requests of a transactional producer of which a delayed copy would do damage.
///
/// librdkafka gives up a request after `socket.timeout.ms`, or when its connection ends, and resends it by itself. The
/// call then succeeds, with no sign that the first copy may still reach the broker. If it arrives in a later
/// transaction of the same epoch, an EndTxn ends that transaction half-way, and a TxnOffsetCommit sets its offsets back
/// (KIP-890). Measured on Kafka 4.3.0: of 8 commits that arrived this late, 6 committed half of the next transaction,
/// whose events were then sent twice. The broker drops a late Produce by its sequence number. Responses are not
/// counted: librdkafka 2.0.2 reports most of them twice.
///
/// Any thread; the callbacks run on librdkafka's.
final class SentRequests: Sendable {
    private let endTransactionCount = Atomic<Int>(0)
    private let offsetCommitCount = Atomic<Int>(0)

    /// EndTxn, API key 26.
    var endTransactions: Int { endTransactionCount.load(ordering: .acquiring) }
    /// TxnOffsetCommit, API key 28.
    var offsetCommits: Int { offsetCommitCount.load(ordering: .acquiring) }

    /// Counts the requests of the client that is created from this configuration. The caller keeps this object alive as
    /// long as the client.
    func watch(_ configuration: OpaquePointer) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, interceptorName, clientMade, Unmanaged.passUnretained(self).toOpaque())
    }

    fileprivate func count(_ api: Int16) {
        switch api {
        case 26: endTransactionCount.add(1, ordering: .releasing)
        case 28: offsetCommitCount.add(1, ordering: .releasing)
        default: break
        }
    }
}

private let interceptorName = "carillon"

private func clientMade(
    _ client: OpaquePointer?, _ configuration: OpaquePointer?, _ opaque: UnsafeMutableRawPointer?,
    _ error: UnsafeMutablePointer<CChar>?, _ errorSize: Int
) -> rd_kafka_resp_err_t {
    rd_kafka_interceptor_add_on_request_sent(client, interceptorName, requestSent, opaque)
}

private func requestSent(
    _ client: OpaquePointer?, _ socket: Int32, _ broker: UnsafePointer<CChar>?, _ brokerID: Int32, _ api: Int16,
    _ version: Int16, _ correlationID: Int32, _ size: Int, _ opaque: UnsafeMutableRawPointer?
) -> rd_kafka_resp_err_t {
    if let opaque { Unmanaged<SentRequests>.fromOpaque(opaque).takeUnretainedValue().count(api) }
    return RD_KAFKA_RESP_ERR_NO_ERROR
}
