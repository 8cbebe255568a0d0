import Extraction
import NotificationPayload

/// The headers of a notification's records (design §4): written once, two of them exchanged for each device.
struct MessageHeaders: ~Copyable {
    private static let platformIndex = 1
    private static let mostHeaders = 10

    private var text = ByteWriter(capacity: 1_024)
    private let headers = UnsafeMutableBufferPointer<EventHeader>.allocate(capacity: mostHeaders)
    private var count = 0
    private var audienceIndex: Int?

    init() {
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        headers.initialize(repeating: EventHeader(name: nothing, value: nil))
    }

    deinit {
        headers.deinitialize()
        headers.deallocate()
    }

    mutating func begin(
        _ notification: Notification, _ batch: borrowing EventBatch, _ expiresAt: Int64,
        _ optional: Set<RenderSettings.OptionalHeader>
    ) {
        let record = batch.records[notification.record]
        count = 0
        audienceIndex = nil
        text.removeAll()
        // Room for everything at once, so that no address moves while the headers are written: the three texts, two
        // separators, and three numbers of at most 20 digits.
        text.reserve(notification.messageID.count + notification.orderID.count + batch.topic.utf8.count + 128)

        copy(notification.messageID, of: batch, as: "message-id")
        add("platform", UnsafeRawBufferPointer(start: nil, count: 0))
        var start = text.count
        text.append(batch.topic)
        text.append(UInt8(ascii: "/"))
        text.append(decimal: Int64(record.partition))
        text.append(UInt8(ascii: "/"))
        text.append(decimal: record.offset)
        add("source", written(from: start))
        start = text.count
        text.append(decimal: expiresAt)
        add("expires-at", written(from: start))
        if !optional.isEmpty {
            addOptional(notification, batch, optional)
        }
        if notification.isDegraded {
            add("x-degraded", UnsafeRawBufferPointer("order_id"))
        }
        for header in batch.headers[record.headers] where sameBytes(header.name, UnsafeRawBufferPointer("traceparent"))
        {
            headers[count] = header
            count += 1
            break
        }
    }

    /// The headers for one device.
    mutating func list(
        for platform: Platform, audience: UnsafeRawBufferPointer
    ) -> UnsafeBufferPointer<EventHeader> {
        switch platform {
        case .fcm: headers[Self.platformIndex].value = UnsafeRawBufferPointer("fcm")
        case .apns: headers[Self.platformIndex].value = UnsafeRawBufferPointer("apns")
        }
        if let audienceIndex {
            headers[audienceIndex].value = audience
        }
        return UnsafeBufferPointer(rebasing: headers[..<count])
    }

    private mutating func addOptional(
        _ notification: Notification, _ batch: borrowing EventBatch, _ optional: Set<RenderSettings.OptionalHeader>
    ) {
        if optional.contains(.eventType) {
            let start = text.count
            text.append(notification.eventType.rawValue)
            add("event-type", written(from: start))
        }
        if optional.contains(.audience) {
            audienceIndex = count
            add("audience", UnsafeRawBufferPointer(start: nil, count: 0))
        }
        if optional.contains(.orderID) {
            copy(notification.orderID, of: batch, as: "order-id")
        }
    }

    private mutating func copy(_ range: TextRange, of batch: borrowing EventBatch, as name: StaticString) {
        let start = text.count
        text.append(batch.bytes(range))
        add(name, written(from: start))
    }

    private mutating func add(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
        headers[count] = EventHeader(name: UnsafeRawBufferPointer(name), value: value)
        count += 1
    }

    private func written(from start: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text.bytes[start...])
    }
}
