/// What waits of each device, in the order of the dispatch records: only the first may be sent.
///
/// A device is the first eight bytes of its token's hash: two devices that share them would wait for each other, which
/// does no harm. One partition's devices; a device is always in the same partition.
package struct DeviceOrder: Sendable {
    package typealias Device = UInt64

    /// - Parameter hash: of the token: 64 hex digits.
    package static func device(of hash: String) -> Device { Device(hash.prefix(16), radix: 16) ?? 0 }

    /// Where a record is.
    package enum Place: Equatable, Sendable {
        /// Held by this process: in flight, or waiting in its memory.
        case held
        /// In a retry topic.
        case tier(Int)
    }

    package struct Waiting: Equatable, Sendable {
        /// The offset of its dispatch record.
        package var offset: Int64
        package var place: Place
    }

    /// Nearly every device has one record. The lists are in the order of the offsets.
    private var devices: [Device: [Waiting]] = [:]
    package private(set) var count = 0

    package var isEmpty: Bool { devices.isEmpty }

    /// Adds a record, or moves it to another place.
    package mutating func put(_ offset: Int64, of device: Device, at place: Place) {
        var list = devices[device] ?? []
        if let index = list.firstIndex(where: { $0.offset == offset }) {
            list[index].place = place
        } else {
            let index = list.firstIndex { $0.offset > offset } ?? list.endIndex
            list.insert(Waiting(offset: offset, place: place), at: index)
            count += 1
        }
        devices[device] = list
    }

    /// The record has its outcome.
    package mutating func remove(_ offset: Int64, of device: Device) {
        guard var list = devices[device], let index = list.firstIndex(where: { $0.offset == offset }) else { return }
        list.remove(at: index)
        count -= 1
        devices[device] = list.isEmpty ? nil : list
    }

    /// The record of this device that may be sent.
    package func first(of device: Device) -> Waiting? { devices[device]?.first }

    /// The newest record of this device.
    package func last(of device: Device) -> Waiting? { devices[device]?.last }

    /// The one right before this record; nil if it is the first.
    package func predecessor(of offset: Int64, _ device: Device) -> Waiting? {
        devices[device]?.last { $0.offset < offset }
    }

    /// How many records of the device are before an offset.
    package func count(before offset: Int64, _ device: Device) -> Int {
        devices[device]?.count { $0.offset < offset } ?? 0
    }

    /// Where a record is; nil if it has its outcome.
    package func place(of offset: Int64, _ device: Device) -> Place? {
        devices[device]?.first { $0.offset == offset }?.place
    }

    /// The next record of this device after an offset.
    package func successor(of offset: Int64, _ device: Device) -> Waiting? {
        devices[device]?.first { $0.offset > offset }
    }
}
