import CRDKafka
import Synchronization

/// When the broker appended the latest record with ``Producer/timedTag``, by the broker's clock, and where; and how much
/// it acknowledged late.
///
/// Uses an interceptor, because delivery reports are enabled for failures only: a report per record would cost more
/// than the record's headers. The interceptor runs for each record, on librdkafka's threads, and only compares a tag and a
/// time.
final class AppendTime: Sendable {
    private let time = Atomic<Int64>(none)
    private let position = Mutex<(partition: Int32, offset: Int64)?>(nil)
    let late = LateBytes()
    private static let none = Int64.min
    /// In 2001: no broker's clock.
    private static let earliest: Int64 = 1_000_000_000_000

    /// Returns each time once; nil if there is no new one. Any thread.
    func take() -> WallTime? {
        let time = time.exchange(Self.none, ordering: .acquiringAndReleasing)
        return time == Self.none ? nil : WallTime(milliseconds: time)
    }

    /// Returns each position once; nil if there is no new one. Any thread.
    func takePosition() -> (partition: Int32, offset: Int64)? {
        position.withLock { position in
            defer { position = nil }
            return position
        }
    }

    /// Observes the client that is created from this configuration. The caller keeps this object alive as long as the
    /// client.
    func watch(_ configuration: OpaquePointer) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, interceptorName, clientMade, Unmanaged.passUnretained(self).toOpaque())
    }

    fileprivate func note(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
        position.withLock { $0 = (message.pointee.partition, message.pointee.offset) }
        var type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let time = rd_kafka_message_timestamp(message, &type)
        // For a delivered record librdkafka 2.0.2 gives the bit of the batch's attributes, 8, instead of the value for
        // append time.
        guard type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE, type != RD_KAFKA_TIMESTAMP_CREATE_TIME else { return }
        // The mock cluster calls it the append time, and gives 1.234 s after 1970.
        guard time >= Self.earliest else { return }
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
    guard let message, message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR, let opaque else {
        return RD_KAFKA_RESP_ERR_NO_ERROR
    }
    let appended = Unmanaged<AppendTime>.fromOpaque(opaque).takeUnretainedValue()
    appended.late.note(message)
    if UInt64(UInt(bitPattern: message.pointee._private)) == Producer.timedTag { appended.note(message) }
    return RD_KAFKA_RESP_ERR_NO_ERROR
}
