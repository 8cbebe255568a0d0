import NotificationPayload

/// Which devices of a list are already chosen, by the hash of their token. Reuses its memory.
struct DeviceSet: ~Copyable {
    /// Open addressing; a place holds a position in the list plus one.
    private var places: [Int32] = []
    /// The first 2^bits places are in use.
    private var bits = 0
    /// Random, so that nobody can choose tokens that begin at one place; no output depends on it.
    private let seed: UInt64

    init(seed: UInt64 = .random(in: .min ... .max)) { self.seed = seed }

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
        var place = start(of: hash)
        while places[place] != 0 {
            if sameBytes(devices[Int(places[place]) - 1].tokenHash, hash) { return false }
            place = (place + 1) & ((1 << bits) - 1)
        }
        places[place] = Int32(position + 1)
        return true
    }

    /// The first place to look for a hash, by the finalizer of MurmurHash3. One multiplication would do for hashes as they
    /// are, but puts those that differ in a few bits into one cluster for one multiplier in fifty.
    private func start(of hash: UnsafeRawBufferPointer) -> Int {
        var mixed = hash.loadUnaligned(as: UInt64.self) ^ seed
        mixed = (mixed ^ mixed >> 33) &* 0xFF51_AFD7_ED55_8CCD
        mixed = (mixed ^ mixed >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return Int(mixed >> (64 - UInt64(bits)))
    }
}
