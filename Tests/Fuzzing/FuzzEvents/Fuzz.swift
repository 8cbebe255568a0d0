import FuzzSupport

/// An event as in orders.events, as ``RecordInput`` reads it.
@c(LLVMFuzzerTestOneInput)
public func fuzzEvent(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    let record = RecordInput(input(data, size))
    lenient.take(record)
    strict.take(record)
    named.take(record)
    mapped.take(record)
    typed.take(record)
    return 0
}

// libFuzzer calls from one thread.
nonisolated(unsafe) private var lenient = ExtractionCheck(onMissingOrderID: .send)
nonisolated(unsafe) private var named = ExtractionCheck(
    onMissingOrderID: .send,
    audiences: "place/{place_id},user/{customer.id},channel/{items[*].sku},device/{reference_id},user/{order_ids[*]}")
// Names that seeds and dictionary have, each for another member.
nonisolated(unsafe) private var mapped = ExtractionCheck(
    onMissingOrderID: .send,
    members: #"""
        {"order":["data"],"orders":["items","payload.orders"],"order_ids":["ids"],"event_type":["type","status.kind"],
        "event_id":["id"],"place_id":["place.id"],"slot":["metadata"],"order.id":["order_ids","items"],
        "order.order_number":["customer.id","customer.order_number"],"order.status":["new_status","status.start_time"],
        "order.shipping_info.slot.start_time":["slot.start_time","shipping_info.slot.date.a"],
        "order.shipping_info.pickup_details.time_slot":["time_slot","slot.from"],
        "order.metadata.delivery_slot_start":["metadata.date","delivery_date"]}
        """#)
nonisolated(unsafe) private var typed = ExtractionCheck(
    onMissingOrderID: .send,
    types: #"""
        {"late":{"names":["ORDER_DELAYED","delayed"],"state":"kept","members":["reference_id","shipping_info.slot.date","items"]},
        "closed":{"names":["big.order.created","created"],"order":"optional","members":["id","metadata.note"]}}
        """#)
nonisolated(unsafe) private var strict = ExtractionCheck(onMissingOrderID: .deadLetter)
