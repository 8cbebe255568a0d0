import NotificationPayload
import Subscriptions

/// Which devices of a list are already chosen, by the hash of their token. Reuses its memory.
struct DeviceSet: ~Copyable {
    /// Open addressing; a place holds a position in the list plus one.
    private var places: [Int32] = []

    /// Empties the set and makes room for this many devices.
    mutating func reset(for count: Int) {
        var size = 64
        while size < count * 2 {
            size *= 2
        }
        if places.count < size {
            places = [Int32](repeating: 0, count: size)
        } else {
            for place in places.indices {
                places[place] = 0
            }
        }
    }

    /// Adds the device at this position; false if its token is already in the set.
    mutating func insert(_ position: Int, in devices: [Device]) -> Bool {
        let hash = devices[position].tokenHash
        var place = Int(truncatingIfNeeded: hash.loadUnaligned(as: UInt64.self)) & (places.count - 1)
        while places[place] != 0 {
            if sameBytes(devices[Int(places[place]) - 1].tokenHash, hash) { return false }
            place = (place + 1) & (places.count - 1)
        }
        places[place] = Int32(position + 1)
        return true
    }
}
