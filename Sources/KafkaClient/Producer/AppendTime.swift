import CRDKafka
import Synchronization

/// When the broker appended the latest record with ``Producer/timedTag``, by its own clock.
///
/// By an interceptor and not by delivery reports, which a producer here gets for failures only: a report for each record
/// would cost more than the record's headers. Asked for each record, on librdkafka's threads, it compares a tag.
final class AppendTime: Sendable {
    private let time = Atomic<Int64>(none)
    private static let none = Int64.min

    /// In milliseconds since 1970; once. Any thread.
    func take() -> Int64? {
        let time = time.exchange(Self.none, ordering: .acquiringAndReleasing)
        return time == Self.none ? nil : time
    }

    /// Has the client that is made of this configuration tell it. Whoever makes it keeps this for as long as the client lives.
    func watch(_ configuration: OpaquePointer) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, interceptorName, clientMade, Unmanaged.passUnretained(self).toOpaque())
    }

    fileprivate func note(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
        var type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let time = rd_kafka_message_timestamp(message, &type)
        // Of a delivered record 2.0.2 gives the bit of the batch's attributes, 8, and not the value for append time.
        guard type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE, type != RD_KAFKA_TIMESTAMP_CREATE_TIME else { return }
        self.time.store(time, ordering: .releasing)
    }
}

private let interceptorName = "carillon-append-time"

private func clientMade(
    _ client: OpaquePointer?, _ configuration: OpaquePointer?, _ opaque: UnsafeMutableRawPointer?,
    _ error: UnsafeMutablePointer<CChar>?, _ errorSize: Int
) -> rd_kafka_resp_err_t {
    rd_kafka_interceptor_add_on_acknowledgement(client, interceptorName, acknowledged, opaque)
}

private func acknowledged(
    _ client: OpaquePointer?, _ message: UnsafeMutablePointer<rd_kafka_message_t>?, _ opaque: UnsafeMutableRawPointer?
) -> rd_kafka_resp_err_t {
    guard let message, UInt64(UInt(bitPattern: message.pointee._private)) == Producer.timedTag else {
        return RD_KAFKA_RESP_ERR_NO_ERROR
    }
    if message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR, let opaque {
        Unmanaged<AppendTime>.fromOpaque(opaque).takeUnretainedValue().note(message)
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR
}
