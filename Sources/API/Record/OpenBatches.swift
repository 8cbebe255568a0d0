/// The batches of which a record has no outcome yet.
///
/// librdkafka sends five requests of a partition at once, and where a record waits behind them its sender polls without a pause.
/// So the rest waits in the mailbox, and is one batch.
struct OpenBatches {
    private static let most = 4
    /// The records without an outcome of each.
    private var counts: [UInt64: Int] = [:]

    var isFull: Bool { counts.count >= Self.most }

    mutating func add(to batch: UInt64) {
        counts[batch, default: 0] += 1
    }

    mutating func remove(from batch: UInt64) {
        guard let count = counts[batch] else { return }
        counts[batch] = count > 1 ? count - 1 : nil
    }
}
