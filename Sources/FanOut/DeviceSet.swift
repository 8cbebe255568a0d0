import NotificationPayload
import Subscriptions

/// Which devices of a list are already chosen, by the hash of their token. Reuses its memory.
struct DeviceSet: ~Copyable {
    /// Open addressing; a place holds a position in the list plus one.
    private var places: [Int32] = []
    /// The first 2^bits places are in use.
    private var bits = 0
    /// Random: tokens whose hashes have equal bits would otherwise all begin at one place.
    private let multiplier = UInt64.random(in: .min ... .max) | 1

    /// Empties the set and makes room for this many devices.
    mutating func reset(for count: Int) {
        bits = 6
        while 1 << bits < count * 2 { bits += 1 }
        let size = 1 << bits
        if places.count < size {
            places = [Int32](repeating: 0, count: size)
        } else {
            for place in 0..<size { places[place] = 0 }
        }
    }

    /// Adds the device at this position; false if its token is already in the set.
    mutating func insert(_ position: Int, in devices: [Device]) -> Bool {
        let hash = devices[position].tokenHash
        var place = Int((hash.loadUnaligned(as: UInt64.self) &* multiplier) >> (64 - UInt64(bits)))
        while places[place] != 0 {
            if sameBytes(devices[Int(places[place]) - 1].tokenHash, hash) { return false }
            place = (place + 1) & ((1 << bits) - 1)
        }
        places[place] = Int32(position + 1)
        return true
    }
}
