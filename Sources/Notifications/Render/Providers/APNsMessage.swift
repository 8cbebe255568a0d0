import NotificationPayload

/// The parts of a request to APNs: its device token, its headers and its payload (docs/rules.md §2, §7).
struct APNsMessage: ~Copyable, ProviderMessage {
    /// The limit of a payload (docs/rules.md §2.3).
    static var limit: Int { 4_096 }
    static var measured: StaticString { "the payload of an APNs message has" }
    static var measuredShown: StaticString { measured }
    static let collapseKey: [StaticString] = ["headers", "apns-collapse-id"]

    /// The payload up to the text of `default`; a quote, the deep link and a brace come after it.
    private static var frame: StaticString { #"{"aps":{"content-available":1},"default":""# }

    /// Its end is everything after the app.
    var body = MessageBody()
    /// The same for an order's message that is shown: its end is everything after the alert.
    private var shown = MessageBody()
    /// What is between the app and the alert.
    private var headers = ByteWriter(capacity: 256)

    init(_ settings: RenderSettings) {}

    /// Apple counts the payload's JSON in the form in which it is sent.
    static func size(
        of notification: Notification, _ order: Notification.Order, deepLink: UnsafeRawBufferPointer
    ) -> Int {
        frame.utf8CodeUnitCount + notification.payload.count + deepLink.count + 2
    }

    static func size(of notice: OrderNotices.Notice) -> Int {
        #""alert":,"#.utf8.count + notice.count
    }

    mutating func begin(
        _ notification: Notification, _ batch: borrowing EventBatch, deepLink: UnsafeRawBufferPointer,
        expiresAt: UnsafeRawBufferPointer
    ) {
        body.removeAll()
        body.append(#"","apns-push-type":"background","apns-priority":"5","apns-expiration":""#)
        body.append(expiresAt)
        body.append(#"","apns-collapse-id":""#)
        body.append(batch.bytes(notification.messageID))
        body.append(#""},"payload":"#)
        body.append(Self.frame)
        body.append(batch.bytes(notification.payload))
        body.append("\"")
        body.append(deepLink)
        body.append("}}")
    }

    mutating func beginShown(
        _ notification: Notification, _ batch: borrowing EventBatch, deepLink: UnsafeRawBufferPointer,
        expiresAt: UnsafeRawBufferPointer
    ) {
        headers.removeAll()
        headers.append(#"","apns-push-type":"alert","apns-priority":"10","apns-expiration":""#)
        headers.append(expiresAt)
        headers.append(#"","apns-collapse-id":""#)
        headers.append(batch.bytes(notification.messageID))
        headers.append(#""},"payload":{"aps":{"alert":"#)
        shown.removeAll()
        shown.append(#","content-available":1},"default":""#)
        shown.append(batch.bytes(notification.payload))
        shown.append("\"")
        shown.append(deepLink)
        shown.append("}}")
    }

    var silentSize: Int { body.endCount }
    var shownSize: Int { shown.endCount + headers.count }

    mutating func render(_ device: Device) -> UnsafeRawBufferPointer {
        body.removeFront()
        Self.prepend(device, to: &body)
        return body.bytes
    }

    mutating func render(_ device: Device, notice: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        shown.removeFront()
        shown.prepend(notice)
        shown.prepend(headers.bytes)
        Self.prepend(device, to: &shown)
        return shown.bytes
    }

    /// Everything up to the end of the app.
    static func prepend(_ device: Device, to body: inout MessageBody) {
        body.prepend(device.app, needsEscaping: device.needsEscaping)
        switch device.environment {
        case .production: body.prepend(#"","environment":"production","headers":{"apns-topic":""#)
        case .development: body.prepend(#"","environment":"development","headers":{"apns-topic":""#)
        }
        body.prepend(device.token, needsEscaping: device.needsEscaping)
        body.prepend(#"{"device_token":""#)
    }
}
