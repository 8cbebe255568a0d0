import FuzzSupport

/// An event as in orders.events. Lines `name: value` up to an empty line are the record's headers, the rest is
/// its value; without an empty line the whole input is the value.
@c(LLVMFuzzerTestOneInput)
public func fuzzEvent(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    let (headers, value) = input(data, size).split(at: [0x0A, 0x0A])
    lenient.take(headers, value)
    strict.take(headers, value)
    named.take(headers, value)
    return 0
}

// libFuzzer calls from one thread.
nonisolated(unsafe) private var lenient = ExtractionCheck(onMissingOrderID: .send)
nonisolated(unsafe) private var named = ExtractionCheck(
    onMissingOrderID: .send,
    audiences: "place/{place_id},user/{customer.id},channel/{items[*].sku},device/{reference_id},user/{order_ids[*]}")
nonisolated(unsafe) private var strict = ExtractionCheck(onMissingOrderID: .deadLetter)
