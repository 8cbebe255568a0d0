import JSONReader
import NotificationPayload

extension Extractor {
    /// An event about one order.
    mutating func processOrder<History: OrderHistory & ~Copyable>(
        _ event: Event, in batch: inout EventBatch, history: inout History
    ) throws(DeadLetter) -> SuppressionReason? {
        let members = event.members
        let object = members.isEvent ? members.order : members.object
        let order = try orderMembers(object)
        let shipping = ShippingMembers(order[.shippingInfo])
        let (orderID, source) = orderID(of: order)
        if event.isSnapshot, orderID == nil { throw .untyped }
        let status = event.type.isStatusChange ? arena.text(members.values(of: .newStatus)) : nil
        let resolvedStatus = status ?? arena.text(order.values(of: .status, known: order[.status]))
        let lacksStatus = event.type.isStatusChange && !event.isSnapshot && resolvedStatus == nil
        let place: UnsafeRawBufferPointer
        do throws(DeadLetter) {
            place = try required(
                arena.text(members.values(of: .placeID)) ?? self.place(of: order, shipping: shipping), of: event.type,
                orderID: orderID)
        } catch {
            if lacksStatus { alsoLacks.append(.missingStatus(orderID: orderID)) }
            if refuses(orderID, of: event.type) { alsoLacks.append(.missingOrderID) }
            throw error
        }
        if let orderID, !isKey(orderID, of: batch.records[event.record].key) {
            notes.keyMismatches += 1
        }
        let zone = zones.zone(of: place)
        let delivery = DeliveryTime(of: order, shipping: shipping, in: zone, notes: &notes)
        var resolved = ResolvedOrder(
            members: order, id: orderID, idSource: source, visibleID: visibleID(of: order),
            parentID: parentID(of: order),
            place: place, delivery: delivery, status: resolvedStatus)
        if lacksStatus {
            if refuses(orderID, of: event.type) { alsoLacks.append(.missingOrderID) }
            throw .missingStatus(orderID: orderID)
        }
        guard event.type.changesOrder else {
            try append(resolved, of: event, in: zone, to: &batch)
            return nil
        }
        let facts = facts(of: &resolved, event, in: zone)
        let verdict = history.consider(facts)
        if verdict.isOutOfOrder { notes.outOfOrder += 1 }
        if verdict.reason == .duplicate { return .duplicate }
        if event.type.isStatusChange {
            let previous = arena.text(members.values(of: .previousStatus)) ?? verdict.previousStatus
            if isTransition(from: previous, to: resolved.status, of: event), let new = resolved.status {
                resolved.change = StatusChange(previous: previous, new: new)
            } else {
                history.apply(facts)
                return .notATransition
            }
        }
        if verdict.reason == nil {
            try append(resolved, of: event, in: zone, to: &batch)
        }
        history.apply(facts)
        return verdict.reason
    }

    /// A snapshot is a status change only if the previous status is known.
    private func isTransition(
        from previous: UnsafeRawBufferPointer?, to new: UnsafeRawBufferPointer?, of event: Event
    ) -> Bool {
        guard let new else { return false }
        guard let previous else { return !event.isSnapshot }
        return !sameBytes(previous, new)
    }

    /// The facts from which the order's state is folded; fallbacks are not facts.
    private mutating func facts(of order: inout ResolvedOrder, _ event: Event, in zone: TimeZoneTable) -> OrderFacts {
        var facts = OrderFacts(type: event.type, time: event.time, orderID: nil, place: order.place)
        // A field too long for a payload changes no state: the event is about to become a dead letter.
        if let id = order.id, order.textCount + (order.status?.count ?? 0) <= EventLimits.maxPayloadSize {
            let messageID = arena.make { identity.write(orderID: id, eventTime: event.time, to: $0) }
            order.messageID = messageID
            facts.orderID = id
            facts.identity = identity.isOwn ? identity.fingerprint : nil
        }
        facts.isRedriven = event.isRedriven
        facts.visibleID = order.visibleID
        facts.parentID = order.parentID
        facts.status = order.status
        facts.orderType = OrderType(order.members)
        let delivery = order.delivery
        if let date = delivery.date {
            let days = Int32(date.daysSinceEpoch)
            switch delivery.dateSource {
            case .order: facts.orderDate = days
            case .slot, .salesforce, .drone, .event, .fallback, .state: facts.date = days
            }
        }
        if let slot = delivery.slot, slot.hasStart, slot.start != .midnight || slot.end != .lastMinute {
            facts.slot = OrderFacts.Slot(start: Int16(slot.start.minutes), end: Int16(slot.end.minutes))
            if delivery.date == nil { facts.slotDate = Int32(delivery.date(of: event.time, in: zone).daysSinceEpoch) }
        }
        return facts
    }

    /// The members of an order; none if there is no order, which is then notified with fallbacks.
    func orderMembers(_ value: JSONValue?) throws(DeadLetter) -> OrderMembers {
        guard let value else { return OrderMembers(nil) }
        guard value.isObject else { throw .notAnEvent("order is not an object") }
        return OrderMembers(value, mapped.order)
    }

    /// id → order_number.
    mutating func orderID(of order: OrderMembers) -> (id: UnsafeRawBufferPointer?, source: FieldSource) {
        guard let id = arena.text(order.values(of: .id, known: order[.id])) ?? orderNumber(of: order) else {
            return (nil, .fallback)
        }
        return (id, .order)
    }

    /// order_number → reference_id; the order id is the fallback of both (docs/rules.md §5.3 row 3).
    mutating func visibleID(of order: OrderMembers) -> UnsafeRawBufferPointer? {
        orderNumber(of: order) ?? arena.text(order.values(of: .referenceID, known: order[.referenceID]))
    }

    private mutating func orderNumber(of order: OrderMembers) -> UnsafeRawBufferPointer? {
        arena.text(order.values(of: .orderNumber, known: order[.orderNumber]))
    }

    mutating func parentID(of order: OrderMembers) -> UnsafeRawBufferPointer? {
        arena.text(order.values(of: .parentOrderID, known: order[.parentOrderID]))
    }

    /// place_id → place.id → shipping_info.place_id (docs/rules.md §5.3 row 2).
    mutating func place(of order: OrderMembers, shipping: ShippingMembers) -> UnsafeRawBufferPointer? {
        arena.text(order.values(of: .placeID, known: order[.placeID])) ?? arena.text(order[.place]?.member("id"))
            ?? arena.text(order.values(of: .shippingPlaceID, known: shipping[.placeID]))
    }

    /// An empty place instead of none, where the settings name an audience that needs none.
    func required(
        _ place: UnsafeRawBufferPointer?, of type: OrderEventType, orderID: UnsafeRawBufferPointer?
    ) throws(DeadLetter) -> UnsafeRawBufferPointer {
        if let place { return place }
        if audiences.needsPlace(type) { throw .noPlace(orderID: orderID) }
        return UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// Whether an event of this type is a dead letter for its missing order id.
    private func refuses(_ orderID: UnsafeRawBufferPointer?, of type: OrderEventType) -> Bool {
        switch onMissingOrderID {
        case .send: false
        case .deadLetter: orderID == nil && !type.isOrderOptional
        }
    }

    private func isKey(_ orderID: UnsafeRawBufferPointer, of key: UnsafeRawBufferPointer?) -> Bool {
        key.map { sameBytes($0, orderID) } ?? false
    }

    /// Writes one notification: its texts and its payload.
    mutating func append(
        _ order: ResolvedOrder, of event: Event, in zone: TimeZoneTable, to batch: inout EventBatch
    ) throws(DeadLetter) {
        let isDegraded = order.id == nil && !event.type.isOrderOptional
        if refuses(order.id, of: event.type) { throw .missingOrderID }
        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
        let id = order.id ?? empty
        // Avoids reserving room for the escaped form of a huge value.
        guard order.textCount <= EventLimits.maxPayloadSize else { throw .payloadTooLarge(order.textCount) }

        try findAddedFields(of: event.type, order.members.object)
        let messageID =
            order.messageID ?? arena.make { identity.write(orderID: id, eventTime: event.time, to: $0) }
        let messageIDRange = batch.append(messageID)
        let placeRange = batch.append(order.place)
        let idRange = batch.append(id)
        let payloadStart = batch.text.count
        let payloadSize = batch.text.append(
            payload(
                order, messageID: messageID, id: id, parentID: order.parentID ?? id, visibleID: order.visibleID ?? id,
                of: event, in: zone), added: addedFields)
        let payload = TextRange(start: payloadStart, count: batch.text.count - payloadStart)
        guard payloadSize <= EventLimits.maxPayloadSize else { throw .payloadTooLarge(payloadSize) }
        let audiences = try appendAudiences(
            of: event.type, order.members.object, id: order.id, place: order.place, to: &batch)
        let notification = Notification(
            record: event.record, eventTime: event.time, messageID: messageIDRange,
            payload: payload, payloadSize: payloadSize,
            kind: .order(
                Notification.Order(
                    eventType: event.type, placeID: placeRange, orderID: idRange,
                    sources: FieldSources(
                        timeSlot: order.delivery.slotSource, date: order.delivery.dateSource, orderID: order.idSource),
                    orderType: OrderType(order.members), isDegraded: isDegraded, audiences: audiences,
                    mappedNames: MappedNamesFound(
                        body: event.members.mapped?.takenPaths ?? 0, order: order.members.mapped?.takenPaths ?? 0))))
        batch.notifications.append(notification)
    }

    /// Finds the fields that the event's type adds to the payload (docs/rules.md §5.7).
    private mutating func findAddedFields(of type: OrderEventType, _ order: JSONValue?) throws(DeadLetter) {
        if !addedFields.isEmpty { addedFields.removeAll(keepingCapacity: true) }
        switch type {
        case .known: return
        case .own(let type):
            for (name, path) in audiences.types.members(of: type) {
                guard let value = arena.text(path.value(in: order)) else { continue }
                guard value.count <= EventLimits.maxAddedFieldSize else { throw .addedFieldTooLarge(name, value.count) }
                addedFields.append(OrderPayloadBytes.Field(name: name, value: value))
            }
        }
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

/// An order whose fields have been found: the input of a notification.
struct ResolvedOrder {
    let members: OrderMembers
    let id: UnsafeRawBufferPointer?
    let idSource: FieldSource
    /// The order's own fields; the order id is the fallback of both.
    let visibleID: UnsafeRawBufferPointer?
    let parentID: UnsafeRawBufferPointer?
    /// Empty where it has none.
    let place: UnsafeRawBufferPointer
    let delivery: DeliveryTime
    /// The new status of the event.
    var status: UnsafeRawBufferPointer?
    var change: StatusChange?
    /// The message id, if it has been made already.
    var messageID: UnsafeRawBufferPointer?

    /// The total size of the texts of a payload, in bytes.
    var textCount: Int {
        let idCount = id?.count ?? 0
        return idCount + (visibleID?.count ?? idCount) + (parentID?.count ?? idCount) + place.count
            + (change?.count ?? 0)
    }
}

struct StatusChange {
    /// Nil if unknown; the payload then says `unknown` (docs/rules.md §5.3 row 7).
    let previous: UnsafeRawBufferPointer?
    let new: UnsafeRawBufferPointer

    var count: Int { (previous?.count ?? 0) + new.count }
}

extension OrderType {
    /// order_type, else type, ignoring case (docs/rules.md §7).
    init?(_ order: OrderMembers) {
        let type =
            Self(order.values(of: .orderType, known: order[.orderType]))
            ?? Self(order.values(of: .type, known: order[.type]))
        guard let type else { return nil }
        self = type
    }

    /// The first type among them.
    private init?(_ values: MemberValues) {
        guard let type = values.firstValid({ Self($0) }) else { return nil }
        self = type
    }

    /// A text, ignoring case and the white space around it.
    init?(_ value: JSONValue?) {
        guard let text = value?.string?.bytes.trimmed else { return nil }
        for type in Self.allCases where text.equalsIgnoringCase(type.text) {
            self = type
            return
        }
        return nil
    }
}
