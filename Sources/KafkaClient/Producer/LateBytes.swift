import CRDKafka
import Glibc
import Synchronization

/// The bytes that the broker acknowledged after a given moment: whether it still took records at the end of a
/// transaction that became too old.
///
/// Counted for each record, on librdkafka's threads: before that moment it costs a look at the coarse clock, 5 ns.
final class LateBytes: Sendable {
    private let beginning = Atomic<Int64>(.max)
    private let bytes = Atomic<Int>(0)

    /// Counts from zero what is acknowledged after this time. Any thread.
    func count(after delay: Duration) {
        beginning.store(.max, ordering: .sequentiallyConsistent)
        bytes.store(0, ordering: .sequentiallyConsistent)
        beginning.store(Self.now + Int64(delay.milliseconds), ordering: .sequentiallyConsistent)
    }

    /// Of keys and values. Any thread.
    var total: Int { bytes.load(ordering: .relaxed) }

    func note(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
        guard Self.now >= beginning.load(ordering: .relaxed) else { return }
        bytes.add(message.pointee.len + message.pointee.key_len, ordering: .relaxed)
    }

    /// Milliseconds, of a clock that only runs forward.
    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
