import JSONReader

extension Extractor {
    /// ORDER_IDS_LISTED: one notification per id, from `orders`, `order_ids` and `order` together (docs/rules.md §5.3
    /// row 9).
    mutating func processList(_ event: Event, in batch: inout EventBatch) throws(DeadLetter) -> SuppressionReason? {
        listedIDs.removeAll()
        listedTimes.removeAll(keepingCapacity: true)
        let members = event.members
        let place = arena.text(members.values(of: .placeID))
        if let place {
            let zone = zones.zone(of: place)
            listedTimes.append((zone, DeliveryTime(of: members, listed: mapped.listed, in: zone, notes: &notes)))
        }
        let list = OrderList(
            event: event, place: place, first: batch.notifications.count, textCount: arena.count)
        if members.isEvent {
            try appendOrders(of: list, in: &batch)
            try appendIDs(of: list, in: &batch)
            if let order = members.order {
                try append(orderMembers(order), of: list, in: &batch)
            }
        } else {
            let order = OrderMembers(members.object, mapped.order)
            if orderID(of: order).id != nil {
                try append(order, of: list, in: &batch)
            }
        }
        return batch.notifications.count > list.first ? nil : .noOrderIDs
    }

    private mutating func appendOrders(of list: OrderList, in batch: inout EventBatch) throws(DeadLetter) {
        guard let orders = list.event.members.values(of: .orders).container(where: \.isArray) else { return }
        guard orders.isArray else { throw .notAnEvent("orders is not an array") }
        var elements = orders.elements
        while let element = elements.next() {
            arena.truncate(to: list.textCount)
            if element.isObject {
                try append(OrderMembers(element, mapped.order), of: list, in: &batch)
            } else {
                try appendID(element, of: list, in: &batch)
            }
        }
    }

    private mutating func appendIDs(of list: OrderList, in batch: inout EventBatch) throws(DeadLetter) {
        guard let ids = list.event.members.values(of: .orderIDs).container(where: \.isArray) else { return }
        guard ids.isArray else { throw .notAnEvent("order_ids is not an array") }
        var elements = ids.elements
        while let element = elements.next() {
            arena.truncate(to: list.textCount)
            try appendID(element, of: list, in: &batch)
        }
    }

    /// An id without an order: a text or a number; anything else is counted and skipped.
    private mutating func appendID(
        _ value: JSONValue, of list: OrderList, in batch: inout EventBatch
    ) throws(DeadLetter) {
        guard let id = arena.text(value) else {
            notes.ignoredOrderIDs += 1
            return
        }
        let place = try required(list.place, of: list.event.type, orderID: id)
        try append(
            OrderMembers(nil), id: id, source: .event, place: place, delivery: DeliveryTime(), of: list, in: &batch)
    }

    private mutating func append(
        _ order: OrderMembers, of list: OrderList, in batch: inout EventBatch
    ) throws(DeadLetter) {
        let shipping = ShippingMembers(order[.shippingInfo])
        let (id, source) = orderID(of: order)
        let place = try required(
            list.place ?? place(of: order, shipping: shipping), of: list.event.type, orderID: id)
        let delivery = DeliveryTime(of: order, shipping: shipping, in: zones.zone(of: place), notes: &notes)
        try append(order, id: id, source: source, place: place, delivery: delivery, of: list, in: &batch)
    }

    /// Notifies once per id; what the order lacks about its delivery is taken from the event.
    private mutating func append(
        _ order: OrderMembers, id: UnsafeRawBufferPointer?, source: FieldSource, place: UnsafeRawBufferPointer,
        delivery: DeliveryTime, of list: OrderList, in batch: inout EventBatch
    ) throws(DeadLetter) {
        let key = id ?? UnsafeRawBufferPointer(start: nil, count: 0)
        guard !listedIDs.contains(key, from: list.first, in: batch) else { return }
        guard batch.notifications.count - list.first < EventLimits.maxNotifications else { throw .tooManyOrderIDs }
        let zone = zones.zone(of: place)
        var delivery = delivery
        if delivery.slot == nil || delivery.date == nil {
            delivery.complete(with: listedTime(of: list.event.members, in: zone))
        }
        let resolved = ResolvedOrder(
            members: order, id: id, idSource: source, visibleID: visibleID(of: order), parentID: parentID(of: order),
            place: place, delivery: delivery)
        try append(resolved, of: list.event, in: zone, to: &batch)
        listedIDs.insertLast(from: list.first, in: batch)
    }

    /// The event's own slot and date in a zone, found once: an event has ten thousand orders and a megabyte of members.
    private mutating func listedTime(of members: EventMembers, in zone: TimeZoneTable) -> DeliveryTime {
        if let known = listedTimes.first(where: { $0.zone.isSame(as: zone) }) { return known.delivery }
        var uncounted = ExtractionNotes()
        let delivery = DeliveryTime(of: members, listed: mapped.listed, in: zone, notes: &uncounted)
        listedTimes.append((zone, delivery))
        return delivery
    }
}

/// What all orders of one ORDER_IDS_LISTED share.
private struct OrderList {
    let event: Event
    /// The event's own place, which takes precedence over that of an order.
    let place: UnsafeRawBufferPointer?
    /// The index of its first notification in the batch.
    let first: Int
    /// The number of texts in the arena that belong to the event and not to an order.
    let textCount: Int
}
