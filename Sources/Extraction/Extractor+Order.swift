import JSONReader
import NotificationPayload

extension Extractor {
    /// An event about one order.
    mutating func processOrder(_ event: Event, in batch: inout EventBatch) throws(DeadLetter) -> SuppressionReason? {
        let members = event.members
        let object = members.isEvent ? members[.order] : members.object
        let order = try orderMembers(object)
        let shipping = ShippingMembers(order[.shippingInfo])
        let (orderID, source) = orderID(of: order)
        guard let place = arena.text(members[.placeID]) ?? place(of: order, shipping: shipping) else {
            throw .noPlace(orderID: orderID)
        }
        if let orderID, !isKey(orderID, of: batch.records[event.record].key) {
            notes.keyMismatches += 1
        }
        var change: StatusChange?
        if event.type == .orderStatusChanged {
            guard let new = arena.text(members[.newStatus]) ?? arena.text(order[.status]) else {
                throw .missingStatus(orderID: orderID)
            }
            let previous = arena.text(members[.previousStatus])
            if let previous, previous.elementsEqual(new) {
                return .notATransition
            }
            change = StatusChange(previous: previous, new: new)
        }
        let zone = zones.zone(of: place)
        let delivery = Delivery(of: order, shipping: shipping, in: zone, notes: &notes)
        let resolved = ResolvedOrder(
            members: order, id: orderID, idSource: source, place: place, delivery: delivery, change: change)
        try append(resolved, of: event, in: zone, to: &batch)
        return nil
    }

    /// The members of an order; none of them where there is no order, which is then notified with fallbacks.
    func orderMembers(_ value: JSONValue?) throws(DeadLetter) -> OrderMembers {
        guard let value, !value.isNull else { return OrderMembers(nil) }
        guard value.isObject else { throw .notAnEvent("order is not an object") }
        return OrderMembers(value)
    }

    /// id → order_number.
    mutating func orderID(of order: OrderMembers) -> (id: UnsafeRawBufferPointer?, source: FieldSource) {
        guard let id = arena.text(order[.id]) ?? arena.text(order[.orderNumber]) else { return (nil, .fallback) }
        return (id, .order)
    }

    /// place_id → place.id → shipping_info.place_id (push-rules §5.3 row 2).
    mutating func place(of order: OrderMembers, shipping: ShippingMembers) -> UnsafeRawBufferPointer? {
        arena.text(order[.placeID]) ?? arena.text(order[.place]?.member("id")) ?? arena.text(shipping[.placeID])
    }

    private func isKey(_ orderID: UnsafeRawBufferPointer, of key: UnsafeRawBufferPointer?) -> Bool {
        guard let key, key.count == orderID.count else { return false }
        return key.elementsEqual(orderID)
    }

    /// Writes one notification: its texts and its payload.
    mutating func append(
        _ order: ResolvedOrder, of event: Event, in zone: TimeZoneTable, to batch: inout EventBatch
    ) throws(DeadLetter) {
        guard order.id != nil || onMissingOrderID == .send else { throw .missingOrderID }
        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
        let id = order.id ?? empty
        let visibleID =
            arena.text(order.members[.orderNumber]) ?? arena.text(order.members[.referenceID]) ?? order.id ?? empty
        let parentID = arena.text(order.members[.parentOrderID]) ?? id
        let size = id.count + visibleID.count + parentID.count + order.place.count + (order.change?.count ?? 0)
        // So that what a huge value could grow to when it is escaped is never made room for.
        guard size <= Self.maxPayloadSize else { throw .payloadTooLarge(size) }

        let messageID = arena.make { identity.write(orderID: id, eventTime: event.time, to: $0) }
        let messageIDRange = batch.append(messageID)
        let placeRange = batch.append(order.place)
        let idRange = batch.append(id)
        let payloadStart = batch.text.count
        let payloadSize = batch.text.append(
            payload(order, messageID: messageID, id: id, parentID: parentID, visibleID: visibleID, of: event, in: zone))
        guard payloadSize <= Self.maxPayloadSize else { throw .payloadTooLarge(payloadSize) }
        let notification = Notification(
            record: event.record, eventType: event.type, eventTime: event.time,
            messageID: messageIDRange, placeID: placeRange, orderID: idRange,
            payload: TextRange(start: payloadStart, count: batch.text.count - payloadStart), payloadSize: payloadSize,
            sources: FieldSources(
                timeSlot: order.delivery.slotSource, date: order.delivery.dateSource, orderID: order.idSource),
            orderType: OrderType(order.members), isDegraded: order.id == nil)
        batch.notifications.append(notification)
    }

    private mutating func payload(
        _ order: ResolvedOrder, messageID: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer,
        parentID: UnsafeRawBufferPointer, visibleID: UnsafeRawBufferPointer, of event: Event, in zone: TimeZoneTable
    ) -> OrderPayloadBytes {
        let date = arena.make { order.delivery.date(of: event.time, in: zone).write(to: $0) }
        let slot = order.delivery.slot ?? .fallback
        let startTime = arena.make { slot.start.write(to: $0) }
        let endTime = arena.make { slot.end.write(to: $0) }
        let change = order.change.map { change in
            if !OrderStatus.isKnown(change.new) || change.previous.map(OrderStatus.isKnown) == false {
                notes.unknownStatuses += 1
            }
            return OrderPayloadBytes.StatusChange(
                previous: change.previous ?? OrderStatus.unknown, new: change.new, orderNumber: visibleID)
        }
        return OrderPayloadBytes(
            messageID: messageID, orderID: id, parentOrderID: parentID, visibleID: visibleID,
            eventType: event.type.name, deliveryDate: date, startTime: startTime, endTime: endTime,
            placeID: order.place, statusChange: change)
    }
}

extension EventBatch {
    fileprivate mutating func append(_ bytes: UnsafeRawBufferPointer) -> TextRange {
        let start = text.count
        text.append(bytes)
        return TextRange(start: start, count: bytes.count)
    }
}

/// An order whose fields have been found: what a notification is written from.
struct ResolvedOrder {
    let members: OrderMembers
    let id: UnsafeRawBufferPointer?
    let idSource: FieldSource
    let place: UnsafeRawBufferPointer
    let delivery: Delivery
    var change: StatusChange?
}

struct StatusChange {
    /// Nil where nobody said; the payload then says `unknown` (push-rules §5.3 row 7).
    let previous: UnsafeRawBufferPointer?
    let new: UnsafeRawBufferPointer

    var count: Int { (previous?.count ?? 0) + new.count }
}

extension OrderType {
    /// order_type, else type, in any case (push-rules §7).
    init?(_ order: OrderMembers) {
        guard let type = Self(order[.orderType]) ?? Self(order[.type]) else { return nil }
        self = type
    }

    private init?(_ value: JSONValue?) {
        guard let text = value?.string?.bytes.trimmed else { return nil }
        if text.equalsIgnoringCase("food") {
            self = .food
        } else if text.equalsIgnoringCase("d2d") {
            self = .d2d
        } else {
            return nil
        }
    }
}
