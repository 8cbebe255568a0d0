import FuzzSupport

/// A line as `carillon render` reads it: a record in the envelope of `kcat -J`, or a bare event. It goes through the whole
/// pipeline without a broker, for a place where everybody has two devices.
@c(LLVMFuzzerTestOneInput)
public func fuzzEnvelope(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    anyTime.take(input(data, size))
    bounded.take(input(data, size))
    return 0
}

// libFuzzer calls from one thread.
nonisolated(unsafe) private var anyTime = RenderCheck(boundsTimes: false)
nonisolated(unsafe) private var bounded = RenderCheck(boundsTimes: true)
