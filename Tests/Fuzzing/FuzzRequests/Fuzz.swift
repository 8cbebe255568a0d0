import FuzzSupport

/// A request as in notifications.requests, to both providers, as ``RecordInput`` reads it.
@c(LLVMFuzzerTestOneInput)
public func fuzzRequest(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    let record = RecordInput(input(data, size))
    byDefault.take(record)
    changed.take(record)
    return 0
}

// libFuzzer calls from one thread.
nonisolated(unsafe) private var byDefault = RequestCheck(changesSettings: false)
nonisolated(unsafe) private var changed = RequestCheck(changesSettings: true)
