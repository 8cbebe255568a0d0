/// The messages of one provider, rendered for many devices: the part that all devices of a notification share is
/// written once, and each device's own part is written before it.
///
/// One per renderer, used only by its thread. Allocates only for a message that is larger than every earlier one.
protocol ProviderMessage: ~Copyable {
    /// The provider's limit, in bytes.
    static var limit: Int { get }
    /// The part of an order's message that the limit counts and its verb, for a person.
    static var measured: StaticString { get }
    /// The same for a message with a title and a body.
    static var measuredShown: StaticString { get }
    /// Where it has the id by which a device replaces what it shows.
    static var collapseKey: [StaticString] { get }

    init(_ settings: RenderSettings)

    /// The bytes of an order's message that count against the limit, without a title and a body.
    ///
    /// - Parameter deepLink: see ``begin(_:_:deepLink:expiresAt:)``.
    static func size(
        of notification: Notification, _ order: Notification.Order, deepLink: UnsafeRawBufferPointer
    ) -> Int

    /// The bytes that a title and a body add.
    static func size(of notice: OrderNotices.Notice) -> Int

    /// Prepares a notification of an order that does not exceed the limit, for devices that show nothing.
    ///
    /// - Parameters:
    ///   - deepLink: the keys of the app's deep link, as members of a JSON object, each after a comma; empty if there
    ///     is no deep link.
    ///   - expiresAt: in seconds since 1970, as decimal digits.
    mutating func begin(
        _ notification: Notification, _ batch: borrowing EventBatch, deepLink: UnsafeRawBufferPointer,
        expiresAt: UnsafeRawBufferPointer)

    /// The same for devices that show a title and a body (docs/rules.md §7.1); independent of the other one.
    mutating func beginShown(
        _ notification: Notification, _ batch: borrowing EventBatch, deepLink: UnsafeRawBufferPointer,
        expiresAt: UnsafeRawBufferPointer)

    /// Prepares a request's notification, or returns why it cannot be sent to any device of the provider.
    mutating func begin(
        _ request: RequestNotification, of notification: Notification, _ batch: borrowing EventBatch
    ) -> DeadLetter?

    /// The bytes of the prepared message without a device's own part and without a title and a body; of the one for
    /// devices that show nothing, and of the other one.
    var silentSize: Int { get }
    var shownSize: Int { get }

    /// The message for one device; valid until the next call.
    mutating func render(_ device: Device) -> UnsafeRawBufferPointer

    /// The message for one device that shows this, `{"title":"…","body":"…"}`; valid until the next call.
    mutating func render(_ device: Device, notice: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer
}

extension ProviderMessage where Self: ~Copyable {
    /// Why a notification of this many bytes cannot be sent; nil if it can.
    static func problem(ofSize size: Int, _ measured: StaticString = measured) -> DeadLetter? {
        guard size > limit else { return nil }
        return DeadLetter(.payloadTooLarge, "\(measured) \(size) bytes, at most \(limit) are allowed")
    }
}

extension Platform {
    /// The value of the header `platform`: the raw value as static bytes.
    var headerValue: UnsafeRawBufferPointer {
        switch self {
        case .fcm: UnsafeRawBufferPointer("fcm")
        case .apns: UnsafeRawBufferPointer("apns")
        }
    }

    /// Where the provider's message has its collapse key.
    package var collapseKey: [StaticString] {
        switch self {
        case .fcm: FCMMessage.collapseKey
        case .apns: APNsMessage.collapseKey
        }
    }
}
