import Digests
import Events
import NotificationPayload
import Subscriptions

/// A record for notifications.dispatch. Its bytes are in the renderer: good until the renderer is called again.
package struct RenderedMessage {
    /// The SHA-256 of the token as 64 hex digits.
    package let key: UnsafeRawBufferPointer
    package let value: UnsafeRawBufferPointer
    package let headers: UnsafeBufferPointer<EventHeader>
}

/// Writes the provider messages of push-rules §7: once a notification all that comes after the token, then the token.
///
/// One a worker, used by its thread alone. The bytes of ``RenderedMessage/headers`` are also in the batch, which has to
/// outlive them. Allocates only for a notification that is larger than every one before.
package struct MessageRenderer: ~Copyable {
    private let timeToLive: Int64
    /// The two keys of the deep link, as members of a JSON object; empty where there is none.
    var deepLink = ByteWriter(capacity: 256)
    /// The end is what comes after an FCM token.
    var fcm = MessageBody()
    /// What comes after the payload of an FCM message, up to the expiry: the same for every notification.
    var fcmProviders = ByteWriter(capacity: 256)
    /// The end is what comes after the app of an APNs device.
    var apns = MessageBody()
    /// The expiry in milliseconds, as digits.
    private var expiry = ByteWriter(capacity: 32)
    /// For a token or an app that must be escaped.
    private var own = ByteWriter(capacity: 256)
    private let key = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 8)
    private var headers: MessageHeaders

    package init(settings: RenderSettings) {
        timeToLive = settings.timeToLiveSeconds
        headers = MessageHeaders(settings.optionalHeaders)
        writeProviders(settings)
    }

    deinit {
        key.deallocate()
    }

    /// Prepares a notification for devices of these platforms.
    ///
    /// Returns why it cannot be sent to them (over 4,096 bytes: push-rules §1.3, §2.3, §7), and then nothing may be
    /// rendered.
    package mutating func begin(
        _ notification: Notification, in batch: borrowing EventBatch, platforms: PlatformSet = .all
    ) -> DeadLetter? {
        if let problem = problem(notification, in: batch, platforms: platforms) {
            return problem
        }
        expiry.removeAll()
        expiry.append(decimal: Self.expiry(of: notification.eventTime, after: timeToLive))
        let milliseconds = expiry.bytes
        let seconds = Self.seconds(ofMilliseconds: milliseconds)
        for platform in Platform.allCases where platforms.contains(PlatformSet(platform)) {
            switch platform {
            case .fcm: writeFCMTail(notification, batch, seconds)
            case .apns: writeAPNsTail(notification, batch, seconds)
            }
        }
        headers.begin(notification, batch, milliseconds)
        return nil
    }

    /// The record for one device of a platform that was begun. `audience` is written where the optional header of that
    /// name is on.
    package mutating func render(_ device: Device, audience: UnsafeRawBufferPointer) -> RenderedMessage {
        let value: UnsafeRawBufferPointer
        switch device.platform {
        case .fcm:
            fcm.removeFront()
            fcm.prepend(text(device.token, of: device))
            fcm.prepend(#"{"message":{"token":""#)
            value = fcm.bytes
        case .apns:
            apns.removeFront()
            apns.prepend(text(device.app, of: device))
            switch device.environment {
            case .production: apns.prepend(#"","environment":"production","headers":{"apns-topic":""#)
            case .development: apns.prepend(#"","environment":"development","headers":{"apns-topic":""#)
            }
            apns.prepend(text(device.token, of: device))
            apns.prepend(#"{"device_token":""#)
            value = apns.bytes
        }
        Hex.write(device.hashStart, to: key)
        return RenderedMessage(
            key: UnsafeRawBufferPointer(start: key, count: 64), value: value,
            headers: headers.list(for: device.platform, audience: audience))
    }

    /// A token or an app as the inside of a JSON string; good until the next one.
    private mutating func text(_ bytes: UnsafeRawBufferPointer, of device: Device) -> UnsafeRawBufferPointer {
        guard device.needsEscaping else { return bytes }
        own.removeAll()
        own.appendEscaped(bytes)
        return own.bytes
    }

    /// The digits of the seconds in those of the milliseconds, rounded towards zero: writing them costs 35 ns.
    private static func seconds(ofMilliseconds digits: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let isNegative = digits.first == UInt8(ascii: "-")
        guard digits.count > (isNegative ? 4 : 3) else { return UnsafeRawBufferPointer("0") }
        return UnsafeRawBufferPointer(rebasing: digits.dropLast(3))
    }

    /// In milliseconds. A time so far in the future that it cannot be counted stays the last one that can.
    static func expiry(of time: EventTime, after seconds: Int64) -> Int64 {
        let (sum, overflow) = time.milliseconds.addingReportingOverflow(seconds * 1_000)
        return overflow ? Int64.max : sum
    }
}
