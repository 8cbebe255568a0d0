import CRDKafka
import Synchronization

/// Counts the requests of a transactional producer whose late copy would do damage.
///
/// librdkafka gives a request up after `socket.timeout.ms`, or when its connection ends, and sends it again by itself. The call then succeeds, and nobody hears that the first copy may
/// still be on its way to the broker. Arriving in a later transaction of the same epoch, an EndTxn ends that one half-way, and a TxnOffsetCommit takes its offsets back (KIP-890).
/// Measured on 4.3.0: of 8 commits that arrived so late, 6 committed the half of the next transaction, whose events were then sent twice.
/// A late Produce is dropped by its sequence number. Answers are not counted: librdkafka 2.0.2 reports most of them twice.
///
/// Any thread; the callbacks run on librdkafka's.
final class SentRequests: Sendable {
    private let endTransactionCount = Atomic<Int>(0)
    private let offsetCommitCount = Atomic<Int>(0)

    /// EndTxn, API key 26.
    var endTransactions: Int { endTransactionCount.load(ordering: .acquiring) }
    /// TxnOffsetCommit, API key 28.
    var offsetCommits: Int { offsetCommitCount.load(ordering: .acquiring) }

    /// Has the client that is made of this configuration count here. Whoever makes it keeps this for as long as the client lives.
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
