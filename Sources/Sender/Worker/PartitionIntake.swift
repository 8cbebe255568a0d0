import Notifications

/// Records of a topic's partition that were read and cannot be handed in yet: retries that are not due, and records that
/// a full window does not take. In the order of their offsets. Those that find no room are left in Kafka.
struct PartitionIntake {
    struct Waiting {
        var record: LaneRecord
        /// Of a retry topic.
        var note: RetryNote?
        var offset: Int64
        var appendedAt: WallTime
    }

    private var waiting: [Waiting] = []
    private var next = 0
    private var reached: Int64?
    private var bytes = 0
    /// The first record that was left in Kafka: from there on the partition is read again.
    private var left: Int64?
    private var isLeftTaken = false

    var isEmpty: Bool { next == waiting.count }
    /// Whether all that was read has been handed in.
    var isIdle: Bool { isEmpty && left == nil }
    var first: Waiting? { isEmpty ? nil : waiting[next] }

    /// - Parameters:
    ///   - most: how many may wait.
    ///   - mostBytes: how many bytes they may have.
    mutating func append(_ record: Waiting, most: Int, mostBytes: Int) {
        guard waiting.count - next < most, bytes < mostBytes else {
            (left, isLeftTaken) = (record.offset, false)
            return
        }
        waiting.append(record)
        bytes += record.record.size
    }

    /// Whether a record comes in its turn; not if it is behind one that was left in Kafka.
    mutating func isNext(_ offset: Int64) -> Bool {
        if left == offset { left = nil }
        return left == nil
    }

    /// Where the partition is to be read again, once nothing waits any longer; nil until then, and afterwards.
    mutating func takeLeft() -> Int64? {
        guard isEmpty, !isLeftTaken, let left else { return nil }
        isLeftTaken = true
        return left
    }

    /// Everything below this offset was read, and what of it is this lane's waits here.
    mutating func reach(_ offset: Int64) {
        if left == nil { reached = max(reached ?? offset, offset) }
    }

    /// Up to where everything was read, once nothing waits any longer; nil until then, and afterwards.
    mutating func takeReached() -> Int64? {
        guard isEmpty else { return nil }
        defer { reached = nil }
        return reached
    }

    mutating func removeFirst() {
        bytes -= waiting[next].record.size
        next += 1
        guard next == waiting.count || next >= 1_024 else { return }
        waiting.removeFirst(next)
        next = 0
    }
}
