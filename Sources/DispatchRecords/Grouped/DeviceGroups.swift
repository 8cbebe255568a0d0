import NotificationPayload
import Subscriptions

/// Collects the devices of a notification that get the same message into one record each (docs/rules.md §7.2), in one
/// pass over the devices.
///
/// A few groups of an audience are open at a time; the oldest one is written where there would be too many. One owner; the
/// memory is reused.
struct DeviceGroups: ~Copyable {
    private struct Open {
        var slot: Int
        var language: Int
        var platform: Platform
        var environment: PushEnvironment

        func isOf(_ device: Device, _ language: Int) -> Bool {
            guard language == self.language, platform == device.platform else { return false }
            return switch platform {
            // FCM's message does not say it.
            case .fcm: true
            case .apns: environment == device.environment
            }
        }
    }

    private static let mostOpen = 32

    /// In the order in which they were opened.
    private var open: [Open] = []
    private var free: [Int] = []
    /// Made one by one, when they are needed first.
    private let slots = UnsafeMutablePointer<GroupBody>.allocate(capacity: mostOpen)
    private var made = 0
    private var key = ByteWriter(capacity: 128)
    private var audience = ByteWriter(capacity: 128)

    init() {}

    deinit {
        slots.deinitialize(count: made)
        slots.deallocate()
    }

    /// Forgets what is open, for the next notification.
    mutating func removeAll() {
        for group in open { free.append(group.slot) }
        open.removeAll(keepingCapacity: true)
    }

    /// Adds a device to the group that it belongs to, if that is open and has room. Otherwise there is room for another
    /// group: call ``begin(with:_:value:)``.
    ///
    /// - Parameters:
    ///   - language: a number for the text that the device shows.
    ///   - audience: by which the device was found, for its header.
    ///   - key: of the record; another one than the latest ends all groups.
    ///   - write: gets the records that are finished; valid during the call only.
    /// - Returns: whether it was added.
    mutating func add(
        _ device: Device, _ language: Int, audience: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer,
        _ headers: inout MessageHeaders, _ write: (DispatchRecord) throws -> Void
    ) rethrows -> Bool {
        if open.isEmpty || !sameBytes(key, self.key.bytes) {
            try writeAll(&headers, write)
            self.key.removeAll()
            self.key.append(key)
            self.audience.removeAll()
            self.audience.append(audience)
            return false
        }
        for index in open.indices where open[index].isOf(device, language) {
            let slot = open[index].slot
            guard sameBytes(slots[slot].app.bytes, device.app) else { continue }
            if slots[slot].hasRoom(for: device) {
                slots[slot].append(device)
                return true
            }
            try self.write(index, &headers, write)
            return false
        }
        if open.count == Self.mostOpen { try self.write(0, &headers, write) }
        return false
    }

    /// Opens a group with a device that was not added.
    ///
    /// - Parameter value: of the record for this device alone.
    mutating func begin(with device: Device, _ language: Int, value: UnsafeRawBufferPointer) {
        var slot = made
        if let used = free.popLast() {
            slot = used
        } else {
            (slots + slot).initialize(to: GroupBody())
            made += 1
        }
        slots[slot].begin(with: device, value: value)
        open.append(Open(slot: slot, language: language, platform: device.platform, environment: device.environment))
    }

    /// Writes what is open.
    mutating func writeAll(
        _ headers: inout MessageHeaders, _ write: (DispatchRecord) throws -> Void
    ) rethrows {
        while !open.isEmpty { try self.write(0, &headers, write) }
    }

    private mutating func write(
        _ index: Int, _ headers: inout MessageHeaders, _ write: (DispatchRecord) throws -> Void
    ) rethrows {
        let group = open.remove(at: index)
        free.append(group.slot)
        let value = slots[group.slot].finish(group.platform)
        try write(
            DispatchRecord(
                key: key.bytes, value: value,
                headers: headers.list(
                    of: group.platform, app: slots[group.slot].app.bytes, audience: audience.bytes,
                    devices: slots[group.slot].count)))
    }
}
