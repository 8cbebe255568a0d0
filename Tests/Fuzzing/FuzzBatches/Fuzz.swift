import FuzzSupport

/// Several events of one partition of orders.events, as ``RecordInput/all(_:)`` reads them: through the core in whatever
/// batches, and through librdkafka in whatever codec.
@c(LLVMFuzzerTestOneInput)
public func fuzzBatch(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    let records = RecordInput.all(input(data, size))
    batches.take(records)
    // For one size in eight, since it takes long.
    if size % 8 == 0 { transports[size / 8 % transports.count].take(records) }
    return 0
}

// libFuzzer calls from one thread.
nonisolated(unsafe) private var batches = BatchCheck()
nonisolated(unsafe) private let transports = TransportCheck.all()
