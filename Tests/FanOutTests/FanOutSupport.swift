import Foundation
import NotificationPayload
import Testing

@testable import Events
@testable import FanOut
@testable import Subscriptions

/// 2025-07-07T14:00:00Z.
let noon = EventTime(milliseconds: 1_751_896_800_000)
let day: Int64 = 86_400_000

extension EventBatch {
    init() {
        self.init(.orders, topic: "orders.events")
    }

    /// Adds a notification of a new record, or of the previous one.
    mutating func add(
        place: String = "7", payload: String = #"{"data":{"message_id":"msg-1"}}"#, orderID: String = "12345",
        messageID: String = "msg-1751896800000-vsgxl8m52", eventType: EventType = .orderCreated,
        time: EventTime = noon, orderType: OrderType? = nil, isDegraded: Bool = false, isSameEvent: Bool = false
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
                OrderNotification(
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

extension Subscription {
    static func fcm(_ token: String, of audience: String = "place/7", lastSeen: EventTime? = noon) -> Subscription {
        Subscription(
            audience: audience, token: token, platform: .fcm, app: "com.example.app", lastSeenAt: lastSeen)
    }

    static func apns(_ token: String, of audience: String = "place/7") -> Subscription {
        Subscription(audience: audience, token: token, platform: .apns, app: "com.example.App", lastSeenAt: noon)
    }
}

/// One record for the table, which owns its bytes.
struct TableRecord {
    var key: [UInt8]?
    var value: [UInt8]?

    init(key: [UInt8]?, value: [UInt8]?) {
        self.key = key
        self.value = value
    }

    init(_ subscription: Subscription) {
        self.init(key: Array(subscription.key.utf8), value: subscription.encoded())
    }

    init(removing subscription: Subscription) {
        self.init(key: Array(subscription.key.utf8), value: nil)
    }
}

extension SubscriptionTable {
    @discardableResult
    func apply(_ records: [TableRecord], next: Int64 = 1, at time: EventTime = noon) throws -> SubscriptionTableChange {
        var changes = SubscriptionChanges()
        for (index, record) in records.enumerated() {
            withOptionalBytes(record.key) { key in
                withOptionalBytes(record.value) { value in
                    changes.append(SubscriptionRecord(partition: 0, offset: Int64(index), key: key, value: value))
                }
            }
        }
        var position = TablePosition.beginning(at: [next], time: time)
        position.isWhole = true
        return try apply(&changes, position)
    }

    @discardableResult
    func store(_ subscriptions: Subscription...) throws -> SubscriptionTableChange {
        try apply(subscriptions.map { TableRecord($0) })
    }

    /// The tokens of an audience, sorted.
    func tokens(of audience: String) throws -> [String] {
        var reader = try makeReader()
        try reader.begin()
        var list = DeviceList()
        list.removeAll(audiences: 1)
        var audience = audience
        try audience.withUTF8 {
            try reader.addDevices(of: UnsafeRawBufferPointer($0), as: 0, limit: Int.max - 1, to: &list)
        }
        return list.devices.map { String(decoding: $0.token, as: UTF8.self) }.sorted()
    }
}

private func withOptionalBytes(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Void) {
    guard let bytes else {
        body(nil)
        return
    }
    bytes.withUnsafeBytes(body)
}

extension FanOut {
    /// The tokens of a notification's recipients, in their order.
    mutating func tokens(of notification: Int, in batch: borrowing EventBatch) -> [String] {
        let recipients = recipients(of: notification, in: batch)
        var tokens: [String] = []
        for position in recipients.devices {
            tokens.append(String(decoding: recipient(position).token, as: UTF8.self))
        }
        return tokens
    }
}

/// A fan-out over a table that holds these subscriptions, with its first snapshot taken.
func makeFanOut(
    _ subscriptions: [Subscription], rule: any AudienceRule = PlaceAudience(), maxAge: Duration = .seconds(270 * 86_400)
) throws -> FanOut {
    let table = SubscriptionTable.inMemory()
    try table.apply(subscriptions.map { TableRecord($0) })
    var fanOut = try FanOut(audienceRule: rule, recipients: .table(table), maxAge: maxAge)
    try fanOut.beginTransaction()
    return fanOut
}

extension [UInt8] {
    func write(toFile path: String) throws {
        try Data(self).write(to: URL(fileURLWithPath: path))
    }
}
