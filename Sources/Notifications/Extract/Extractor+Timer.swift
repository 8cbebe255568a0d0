import NotificationPayload

/// A due timer of an order: the input of its notification. The texts belong to the order's state.
package struct DueNotification {
    package var type: EventType
    /// 0 for the start of the slot, 1 to 3 for its reminders.
    package var number: Int64
    package var orderID: UnsafeRawBufferPointer
    package var place: UnsafeRawBufferPointer
    package var visibleID: UnsafeRawBufferPointer?
    package var parentID: UnsafeRawBufferPointer?
    /// Days since 1970.
    package var date: Int32
    package var slot: OrderFacts.Slot
    /// When the timer is due by the slot alone; the message id is derived from it.
    package var nominal: WallTime
    /// The same time with the place's spread: the time of the notification.
    package var due: WallTime
    package var orderType: OrderType?
}

extension Extractor {
    /// Appends the notification of a timer to a batch of timers, as that of the record with this index (docs/rules.md
    /// §6, tag `timer`).
    ///
    /// - Returns: why it cannot be sent; the batch is then unchanged.
    package mutating func append(_ timer: DueNotification, record: Int, to batch: inout EventBatch) -> DeadLetter? {
        arena.truncate()
        let date = CivilDate(daysSinceEpoch: Int(timer.date)) ?? .last
        let dateText = arena.make { date.write(to: $0) }
        let startText = arena.make { ClockTime(minutes: Int(timer.slot.start)).write(to: $0) }
        let endText = arena.make { ClockTime(minutes: Int(timer.slot.end)).write(to: $0) }
        identity.begin(tag: "timer")
        identity.append(timer.orderID)
        identity.append(dateText)
        identity.append(startText)
        identity.append(timer.number)
        identity.end(type: timer.type.name)
        let messageID = arena.make { identity.write(orderID: timer.orderID, eventTime: timer.nominal, to: $0) }

        let (text, notifications, ofBefore) = (batch.text.count, batch.notifications.count, batch.audiences.count)
        let messageIDRange = batch.append(messageID)
        let placeRange = batch.append(timer.place)
        let idRange = batch.append(timer.orderID)
        let payloadStart = batch.text.count
        let payloadSize = batch.text.append(
            OrderPayloadBytes(
                messageID: messageID, orderID: timer.orderID, parentOrderID: timer.parentID ?? timer.orderID,
                visibleID: timer.visibleID ?? timer.orderID, eventType: timer.type.name, deliveryDate: dateText,
                startTime: startText, endTime: endText, placeID: timer.place))
        let payload = TextRange(start: payloadStart, count: batch.text.count - payloadStart)
        let audiences: Range<Int32>
        do throws(DeadLetter) {
            guard payloadSize <= EventLimits.maxPayloadSize else { throw .payloadTooLarge(payloadSize) }
            audiences = try appendAudiences(
                of: .known(timer.type), nil, id: timer.orderID, place: timer.place, to: &batch)
        } catch {
            batch.truncate(notifications: notifications, audiences: ofBefore, text: text)
            return error
        }
        batch.notifications.append(
            Notification(
                record: record, eventTime: timer.due, messageID: messageIDRange,
                payload: payload, payloadSize: payloadSize,
                kind: .order(
                    Notification.Order(
                        eventType: .known(timer.type), placeID: placeRange, orderID: idRange,
                        sources: FieldSources(timeSlot: .state, date: .state, orderID: .state),
                        orderType: timer.orderType, isDegraded: false, audiences: audiences))))
        return nil
    }
}
