import Events
import NotificationPayload
import Subscriptions

/// The headers of a notification's records (design §4): the names are written once, the values once a notification, and
/// two of them are exchanged for each device.
struct MessageHeaders: ~Copyable {
    /// The places of those that every record has.
    private enum Place {
        static let messageID = 0
        static let platform = 1
        static let source = 2
        static let expiresAt = 3
    }

    private static let mostHeaders = 10

    private var text = ByteWriter(capacity: 1_024)
    private let headers = UnsafeMutableBufferPointer<EventHeader>.allocate(capacity: mostHeaders)
    /// Those that every record has and those that the settings ask for.
    private let fixedCount: Int
    private var count = 0
    private let eventTypePlace: Int?
    private let audiencePlace: Int?
    private let orderIDPlace: Int?

    init(_ optional: Set<RenderSettings.OptionalHeader>) {
        headers.initialize(repeating: EventHeader(name: UnsafeRawBufferPointer(start: nil, count: 0), value: nil))
        var names: [StaticString] = ["message-id", "platform", "source", "expires-at"]
        func place(of header: RenderSettings.OptionalHeader, _ name: StaticString) -> Int? {
            guard optional.contains(header) else { return nil }
            names.append(name)
            return names.count - 1
        }
        eventTypePlace = place(of: .eventType, "event-type")
        audiencePlace = place(of: .audience, "audience")
        orderIDPlace = place(of: .orderID, "order-id")
        fixedCount = names.count
        for (index, name) in names.enumerated() { headers[index].name = UnsafeRawBufferPointer(name) }
    }

    deinit {
        headers.deinitialize()
        headers.deallocate()
    }

    /// - Parameter expiresAt: in milliseconds, as decimal digits.
    mutating func begin(
        _ notification: Notification, _ batch: borrowing EventBatch, _ expiresAt: UnsafeRawBufferPointer
    ) {
        let record = batch.records[notification.record]
        count = fixedCount
        text.removeAll()
        // Room for everything at once, so that no address moves while the headers are written: the three texts, two
        // separators, and three numbers of at most 20 digits.
        text.reserve(notification.messageID.count + notification.orderID.count + batch.topic.utf8.count + 128)

        copy(notification.messageID, of: batch, to: Place.messageID)
        var start = text.count
        text.append(batch.topic)
        text.append(UInt8(ascii: "/"))
        text.append(decimal: Int64(record.partition))
        text.append(UInt8(ascii: "/"))
        text.append(decimal: record.offset)
        headers[Place.source].value = written(from: start)
        start = text.count
        text.append(expiresAt)
        headers[Place.expiresAt].value = written(from: start)
        if let eventTypePlace {
            start = text.count
            text.append(notification.eventType.rawValue)
            headers[eventTypePlace].value = written(from: start)
        }
        if let orderIDPlace {
            copy(notification.orderID, of: batch, to: orderIDPlace)
        }
        if notification.isDegraded {
            add(EventHeader(name: UnsafeRawBufferPointer("x-degraded"), value: UnsafeRawBufferPointer("order_id")))
        }
        for index in record.headers where sameBytes(batch.headers[index].name, UnsafeRawBufferPointer("traceparent")) {
            add(batch.headers[index])
            break
        }
    }

    /// The headers for one device.
    mutating func list(
        for platform: Platform, audience: UnsafeRawBufferPointer
    ) -> UnsafeBufferPointer<EventHeader> {
        switch platform {
        case .fcm: headers[Place.platform].value = UnsafeRawBufferPointer("fcm")
        case .apns: headers[Place.platform].value = UnsafeRawBufferPointer("apns")
        }
        if let audiencePlace {
            headers[audiencePlace].value = audience
        }
        return UnsafeBufferPointer(rebasing: headers[..<count])
    }

    private mutating func copy(_ range: TextRange, of batch: borrowing EventBatch, to place: Int) {
        let start = text.count
        text.append(batch.bytes(range))
        headers[place].value = written(from: start)
    }

    private mutating func add(_ header: EventHeader) {
        headers[count] = header
        count += 1
    }

    private func written(from start: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text.bytes[start...])
    }
}
