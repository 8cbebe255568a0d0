import Extraction

/// The devices of one notification, each once: positions in ``FanOut/recipient(_:)``.
package struct Recipients: Sendable {
    package var devices: Range<Int>
    /// The platforms among them, for ``MessageRenderer/begin(_:in:platforms:)``.
    package var platforms: PlatformSet
    /// Devices left out because they were not seen for too long (push-rules §5.3 row 20).
    package var stale: Int
}

/// Audience rule, resolver and de-duplication: from notifications to their devices.
///
/// One a worker, used by its thread alone. A notification's devices are ordered by audience, then by token hash.
package struct FanOut: ~Copyable {
    private let rule: any AudienceRule
    private let source: RecipientSource
    private var audiences = AudienceList()
    private var list = DeviceList()

    /// - Parameter maxAge: devices last seen longer before the event than this are left out.
    package init(
        audienceRule: any AudienceRule, recipients: RecipientSource, maxAge: Duration
    ) throws(SubscriptionTableError) {
        rule = audienceRule
        source = recipients
    }

    /// Takes a new snapshot of the table. Every ``Device`` of the transaction before is gone.
    package mutating func beginTransaction() throws(SubscriptionTableError) {}

    /// Gives the snapshot up, so that an idle worker does not keep old pages alive.
    package mutating func endTransaction() {}

    /// The offsets that the snapshot contains, by partition; nil with a user's resolver.
    package var tableOffsets: [Int64]? { nil }

    /// Devices that a user's resolver gave and that cannot be sent to, in the latest ``resolve(_:from:limit:)``.
    package var rejectedDevices: Int { list.rejected }

    /// Runs rule and resolver for the notifications from `first` on.
    ///
    /// Stops after the event that takes the devices over `limit`, and returns the end (exclusive) of what was resolved:
    /// whole events, at least one. Errors of rule and resolver pass through.
    package mutating func resolve(_ batch: borrowing EventBatch, from first: Int, limit: Int) throws -> Int {
        batch.notifications.count
    }

    /// The devices of one resolved notification, each once, stale ones left out. Good until the next call.
    package mutating func recipients(of notification: Int, in batch: borrowing EventBatch) -> Recipients {
        Recipients(devices: 0..<0, platforms: [], stale: 0)
    }

    /// The device at a position of the latest ``recipients(of:in:)``.
    package func recipient(_ position: Int) -> Device {
        list.devices[position]
    }

    /// The audience that a device was found by; good until the next ``resolve(_:from:limit:)``.
    package func audience(of device: Device) -> UnsafeRawBufferPointer {
        audiences.bytes(Int(device.audience))
    }
}
