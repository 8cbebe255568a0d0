/// The newest push of each device and collapse key, of one kind in a partition, among those that wait behind another push.
struct NewestOfKeys: Sendable {
    private struct Key: Hashable {
        var device: DeviceOrder.Device
        var collapse: UInt64
    }

    private var newest: [Key: Int64] = [:]

    var isEmpty: Bool { newest.isEmpty }

    mutating func put(_ offset: Int64, of device: DeviceOrder.Device, _ collapse: UInt64) {
        let key = Key(device: device, collapse: collapse)
        newest[key] = max(newest[key] ?? offset, offset)
    }

    /// Whether a newer push waits.
    func has(after offset: Int64, of device: DeviceOrder.Device, _ collapse: UInt64) -> Bool {
        newest[Key(device: device, collapse: collapse)].map { $0 > offset } ?? false
    }

    /// The push has its outcome.
    mutating func remove(_ offset: Int64, of device: DeviceOrder.Device, _ collapse: UInt64) {
        let key = Key(device: device, collapse: collapse)
        if newest[key] == offset { newest[key] = nil }
    }
}
