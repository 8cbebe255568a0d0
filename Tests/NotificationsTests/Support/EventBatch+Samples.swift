import NotificationPayload
import StageSupport

@testable import Notifications

extension EventBatch {
    init() {
        self.init(.orders, topic: "orders.events")
    }

    /// Adds a notification of a new record, or of the previous one.
    mutating func add(
        place: String = "7", payload: String = #"{"data":{"message_id":"msg-1"}}"#, orderID: String = "12345",
        messageID: String = "msg-1751896800000-vsgxl8m52", eventType: OrderEventType = .known(.orderCreated),
        time: WallTime = noon, orderType: OrderType? = nil, isDegraded: Bool = false, isSameEvent: Bool = false
    ) {
        if !isSameEvent {
            records.append(
                EventRecord(
                    partition: 3, offset: 4_711 + Int64(records.count), timestamp: time,
                    key: nil, value: nil))
        }
        // The extractor writes it like this: escaped for the JSON string around it.
        let payloadStart = text.count
        var plain = payload
        plain.withUTF8 { text.appendEscaped(UnsafeRawBufferPointer($0)) }
        let embedded = TextRange(start: payloadStart, count: text.count - payloadStart)
        let notification = Notification(
            record: records.count - 1, eventTime: time, messageID: append(messageID), payload: embedded,
            payloadSize: payload.utf8.count,
            kind: .order(
                Notification.Order(
                    eventType: eventType, placeID: append(place), orderID: append(orderID),
                    sources: FieldSources(timeSlot: .fallback, date: .fallback, orderID: .order),
                    orderType: orderType, isDegraded: isDegraded)))
        notifications.append(notification)
    }

    private mutating func append(_ string: String) -> TextRange {
        let start = text.count
        var string = string
        string.withUTF8 { text.append(UnsafeRawBufferPointer($0)) }
        return TextRange(start: start, count: text.count - start)
    }
}
