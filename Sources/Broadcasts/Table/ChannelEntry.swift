import Notifications
import StateStore

/// How a device of a channel is stored: 8 bytes with the offset at which it joined, little-endian, then what the table of
/// subscriptions stores of a device.
enum ChannelEntry {
    static let headCount = 8

    static func joined(_ value: UnsafeRawBufferPointer) -> Int64? {
        guard value.count >= headCount else { return nil }
        return Int64(littleEndian: value.loadUnaligned(as: Int64.self))
    }

    static func make(joined: Int64, _ device: UnsafeRawBufferPointer) -> [UInt8] {
        withUnsafeBytes(of: joined.littleEndian) { Array($0) } + device
    }

    /// Points into key and value; nil if another version wrote them.
    static func device(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Device? {
        guard value.count >= headCount else { return nil }
        let device = UnsafeRawBufferPointer(rebasing: value[headCount...])
        return TableEntry.device(StoreEntry(key: key, value: device), audience: 0)
    }
}
