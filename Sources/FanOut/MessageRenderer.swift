import Extraction
import NotificationPayload

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
    let settings: RenderSettings
    let timeToLive: Int64
    /// What comes after an FCM token.
    var fcmTail = ByteWriter(capacity: 4_096)
    /// What comes after the app of an APNs device.
    var apnsTail = ByteWriter(capacity: 4_096)
    private var value = ByteWriter(capacity: 8_192)
    private let key = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 8)
    var headers = MessageHeaders()

    package init(settings: RenderSettings) {
        self.settings = settings
        timeToLive = settings.timeToLiveSeconds
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
        let expiresAt = Self.expiry(of: notification.eventTime, after: timeToLive)
        if platforms.contains(.fcm) {
            writeFCMTail(notification, batch, expiresAt)
        }
        if platforms.contains(.apns) {
            writeAPNsTail(notification, batch, expiresAt)
        }
        headers.begin(notification, batch, expiresAt, settings.optionalHeaders)
        return nil
    }

    /// The record for one device of a platform that was begun. `audience` is written where the optional header of that
    /// name is on.
    package mutating func render(_ device: Device, audience: UnsafeRawBufferPointer) -> RenderedMessage {
        value.removeAll()
        switch device.platform {
        case .fcm:
            value.append(#"{"message":{"token":""#)
            append(device.token, of: device)
            value.append(fcmTail.bytes)
        case .apns:
            value.append(#"{"device_token":""#)
            append(device.token, of: device)
            switch device.environment {
            case .production: value.append(#"","environment":"production","headers":{"apns-topic":""#)
            case .development: value.append(#"","environment":"development","headers":{"apns-topic":""#)
            }
            append(device.app, of: device)
            value.append(apnsTail.bytes)
        }
        Hex.write(device.hashStart, to: key)
        return RenderedMessage(
            key: UnsafeRawBufferPointer(start: key, count: 64), value: value.bytes,
            headers: headers.list(for: device.platform, audience: audience))
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer, of device: Device) {
        if device.needsEscaping {
            value.appendEscaped(bytes)
        } else {
            value.append(bytes)
        }
    }

    /// In milliseconds. A time so far in the future that it cannot be counted stays the last one that can.
    static func expiry(of time: EventTime, after seconds: Int64) -> Int64 {
        let (sum, overflow) = time.milliseconds.addingReportingOverflow(seconds * 1_000)
        return overflow ? Int64.max : sum
    }
}
