import Extraction

/// A record for notifications.dispatch. Its bytes are in the renderer: good until the renderer is called again.
package struct RenderedMessage {
    /// The SHA-256 of the token as 64 hex digits.
    package let key: UnsafeRawBufferPointer
    package let value: UnsafeRawBufferPointer
    package let headers: UnsafeBufferPointer<EventHeader>
}

/// Writes the provider messages of push-rules §7: once a notification all that surrounds the token, then the token.
package struct MessageRenderer: ~Copyable {
    private let settings: RenderSettings

    package init(settings: RenderSettings) {
        self.settings = settings
    }

    /// Why this notification cannot be sent to these platforms: over 4,096 bytes (push-rules §1.3, §7). Nil if it can.
    package func problem(
        _ notification: Notification, in batch: borrowing EventBatch, platforms: PlatformSet
    ) -> DeadLetter? { nil }

    /// Prepares a notification. Returns why it cannot be sent, and then nothing may be rendered.
    package mutating func begin(
        _ notification: Notification, in batch: borrowing EventBatch, platforms: PlatformSet = .all
    ) -> DeadLetter? { nil }

    /// The record for one device. `audience` is written where the optional header of that name is on.
    package mutating func render(_ device: Device, audience: UnsafeRawBufferPointer) -> RenderedMessage {
        RenderedMessage(key: device.token, value: device.token, headers: UnsafeBufferPointer(start: nil, count: 0))
    }
}
