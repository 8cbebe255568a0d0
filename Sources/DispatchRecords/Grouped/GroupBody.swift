import Digests
import NotificationPayload
import Subscriptions

/// The value of a grouped record that is being collected: the devices so far, and what they share.
///
/// One owner; the memory is reused.
struct GroupBody: ~Copyable {
    private var text = ByteWriter(capacity: 4_096)
    private var shared = ByteWriter(capacity: 2_048)
    /// The app whose devices they are.
    private(set) var app = ByteWriter(capacity: 64)
    private(set) var count = 0

    /// Begins with a device.
    ///
    /// - Parameter value: of the record for this device alone.
    mutating func begin(with device: Device, value: UnsafeRawBufferPointer) {
        text.removeAll()
        text.append(GroupedForm.start)
        app.removeAll()
        app.append(device.app)
        count = 0
        shared.removeAll()
        append(device)
        // What comes after the token, which stands in the value as it stands in the list.
        let token = text.count - GroupedForm.start.utf8CodeUnitCount - GroupedForm.entrySize
        let front =
            GroupedForm.head(of: device.platform).utf8CodeUnitCount + token
            + GroupedForm.afterToken.utf8CodeUnitCount
        shared.append(UnsafeRawBufferPointer(rebasing: value[front...]))
    }

    /// Whether there is room for another device.
    func hasRoom(for device: Device) -> Bool {
        // An escaped byte is at most "\u00XX".
        let token = device.needsEscaping ? device.token.count * 6 : device.token.count
        return count < GroupedForm.mostDevices
            && text.count + shared.count + token + GroupedForm.entrySize + 16 <= GroupedForm.mostBytes
    }

    mutating func append(_ device: Device) {
        if count > 0 { text.append(UInt8(ascii: ",")) }
        text.append(GroupedForm.beforeHash)
        text.append(upTo: 64) { target in
            Hex.write(device.hashStart, to: target)
            return target + 64
        }
        text.append(GroupedForm.beforeToken)
        if device.needsEscaping { text.appendEscaped(device.token) } else { text.append(device.token) }
        text.append(GroupedForm.afterEntry)
        count += 1
    }

    /// The whole value; valid until the next ``begin(with:value:)``, which must be the next change.
    mutating func finish(_ platform: Platform) -> UnsafeRawBufferPointer {
        text.append(GroupedForm.afterDevices(of: platform))
        text.append(shared.bytes)
        return text.bytes
    }
}
