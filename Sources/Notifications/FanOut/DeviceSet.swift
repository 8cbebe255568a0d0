import NotificationPayload

/// Which devices of a list are already chosen, by the hash of their token. Reuses its memory.
struct DeviceSet: ~Copyable {
    /// Open addressing; a slot holds a position in the list plus one.
    private var slots: [Int32] = []
    /// The first 2^bits slots are in use.
    private var bits = 0
    /// Random, so that nobody can choose tokens that begin at one slot; no output depends on it.
    private let seed: UInt64

    init(seed: UInt64 = .random(in: .min ... .max)) { self.seed = seed }

    /// Empties the set and makes room for this many devices.
    mutating func reset(for count: Int) {
        bits = 6
        while 1 << bits < count * 2 { bits += 1 }
        let size = 1 << bits
        if slots.count < size {
            slots = [Int32](repeating: 0, count: size)
        } else {
            for slot in 0..<size { slots[slot] = 0 }
        }
    }

    /// Adds the device at this position; false if its token is already in the set.
    mutating func insert(_ position: Int, in devices: [Device]) -> Bool {
        let hash = devices[position].tokenHash
        var slot = start(of: hash)
        while slots[slot] != 0 {
            if sameBytes(devices[Int(slots[slot]) - 1].tokenHash, hash) { return false }
            slot = (slot + 1) & ((1 << bits) - 1)
        }
        slots[slot] = Int32(position + 1)
        return true
    }

    /// The first slot to look for a hash, by the finalizer of MurmurHash3. One multiplication would do for hashes as they
    /// are, but puts those that differ in a few bits into one cluster for one multiplier in fifty.
    private func start(of hash: UnsafeRawBufferPointer) -> Int {
        var mixed = hash.loadUnaligned(as: UInt64.self) ^ seed
        mixed = (mixed ^ mixed >> 33) &* 0xFF51_AFD7_ED55_8CCD
        mixed = (mixed ^ mixed >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return Int(mixed >> (64 - UInt64(bits)))
    }
}
