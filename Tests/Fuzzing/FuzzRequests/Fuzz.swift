import FuzzSupport

/// A request as in notifications.requests, to both providers. Lines `name: value` up to an empty line are the record's
/// headers, the rest is its value; without an empty line the whole input is the value.
@c(LLVMFuzzerTestOneInput)
public func fuzzRequest(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    let (headers, value) = input(data, size).split(at: [0x0A, 0x0A])
    byDefault.take(headers, value)
    changed.take(headers, value)
    return 0
}

// libFuzzer calls from one thread.
nonisolated(unsafe) private var byDefault = RequestCheck(changesSettings: false)
nonisolated(unsafe) private var changed = RequestCheck(changesSettings: true)
