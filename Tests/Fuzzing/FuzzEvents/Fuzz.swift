import FuzzSupport

/// An event as in orders.events, as ``RecordInput`` reads it.
@c(LLVMFuzzerTestOneInput)
public func fuzzEvent(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    let record = RecordInput(input(data, size))
    lenient.take(record)
    strict.take(record)
    named.take(record)
    typed.take(record)
    return 0
}

// libFuzzer calls from one thread.
nonisolated(unsafe) private var lenient = ExtractionCheck(onMissingOrderID: .send)
nonisolated(unsafe) private var named = ExtractionCheck(
    onMissingOrderID: .send,
    audiences: "place/{place_id},user/{customer.id},channel/{items[*].sku},device/{reference_id},user/{order_ids[*]}")
nonisolated(unsafe) private var typed = ExtractionCheck(
    onMissingOrderID: .send,
    types: #"""
        {"late":{"names":["ORDER_DELAYED","delayed"],"state":"kept","members":["reference_id","shipping_info.slot.date","items"]},
        "closed":{"names":["big.order.created","created"],"order":"optional","members":["id","metadata.note"]}}
        """#)
nonisolated(unsafe) private var strict = ExtractionCheck(onMissingOrderID: .deadLetter)
