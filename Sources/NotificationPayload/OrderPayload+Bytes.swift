/// The fields of an ``OrderPayload`` as bytes that belong to someone else: what the server writes from.
package struct OrderPayloadBytes {
    package var messageID: UnsafeRawBufferPointer
    package var orderID: UnsafeRawBufferPointer
    package var parentOrderID: UnsafeRawBufferPointer
    package var visibleID: UnsafeRawBufferPointer
    package var eventType: UnsafeRawBufferPointer
    package var deliveryDate: UnsafeRawBufferPointer
    package var startTime: UnsafeRawBufferPointer
    package var endTime: UnsafeRawBufferPointer
    package var placeID: UnsafeRawBufferPointer
    /// Only ORDER_STATUS_CHANGED has them.
    package var statusChange: StatusChange?

    package struct StatusChange {
        package var previous: UnsafeRawBufferPointer
        package var new: UnsafeRawBufferPointer
        package var orderNumber: UnsafeRawBufferPointer

        package init(
            previous: UnsafeRawBufferPointer, new: UnsafeRawBufferPointer, orderNumber: UnsafeRawBufferPointer
        ) {
            self.previous = previous
            self.new = new
            self.orderNumber = orderNumber
        }
    }

    package init(
        messageID: UnsafeRawBufferPointer, orderID: UnsafeRawBufferPointer, parentOrderID: UnsafeRawBufferPointer,
        visibleID: UnsafeRawBufferPointer, eventType: UnsafeRawBufferPointer, deliveryDate: UnsafeRawBufferPointer,
        startTime: UnsafeRawBufferPointer, endTime: UnsafeRawBufferPointer, placeID: UnsafeRawBufferPointer,
        statusChange: StatusChange? = nil
    ) {
        self.messageID = messageID
        self.orderID = orderID
        self.parentOrderID = parentOrderID
        self.visibleID = visibleID
        self.eventType = eventType
        self.deliveryDate = deliveryDate
        self.startTime = startTime
        self.endTime = endTime
        self.placeID = placeID
        self.statusChange = statusChange
    }
}

extension ByteWriter {
    /// Appends document 1's `default` string: `{"data":{…}}` in the document's field order, without spaces.
    package mutating func append(_ payload: OrderPayloadBytes) {
        append("{\"data\":{\"message_id\":\"")
        appendEscaped(payload.messageID)
        append("\",\"order_id\":\"")
        appendEscaped(payload.orderID)
        append("\",\"parent_order_id\":\"")
        appendEscaped(payload.parentOrderID)
        append("\",\"visible_id\":\"")
        appendEscaped(payload.visibleID)
        append("\",\"event_type\":\"")
        appendEscaped(payload.eventType)
        append("\",\"delivery_date\":\"")
        appendEscaped(payload.deliveryDate)
        append("\",\"start_time\":\"")
        appendEscaped(payload.startTime)
        append("\",\"end_time\":\"")
        appendEscaped(payload.endTime)
        append("\",\"place_id\":\"")
        appendEscaped(payload.placeID)
        if let change = payload.statusChange {
            append("\",\"previous_status\":\"")
            appendEscaped(change.previous)
            append("\",\"new_status\":\"")
            appendEscaped(change.new)
            append("\",\"order_number\":\"")
            appendEscaped(change.orderNumber)
        }
        append("\"}}")
    }
}
