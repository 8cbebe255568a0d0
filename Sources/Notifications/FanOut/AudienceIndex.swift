/// Finds an audience in an ``AudienceList`` by the hash of its text. Reuses its memory, and emptying it costs nothing.
struct AudienceIndex: ~Copyable {
    private struct Slot {
        /// Whether the entry is in use: one with an older stamp is empty.
        var stamp: UInt32 = 0
        var hash: UInt32 = 0
        var audience: Int32 = 0
    }

    /// Open addressing, at most half full; a power of two.
    private var slots = [Slot](repeating: Slot(), count: 1_024)
    private var stamp: UInt32 = 1
    private var count = 0
    /// Random, so that nobody can choose audiences that collide; no output depends on them.
    private let seed = UInt64.random(in: .min ... .max)
    private let multiplier = UInt64.random(in: .min ... .max) | 1

    mutating func removeAll() {
        count = 0
        stamp &+= 1
        if stamp == 0 {
            slots = [Slot](repeating: Slot(), count: slots.count)
            stamp = 1
        }
    }

    /// The first slot to look for a hash.
    func start(of hash: UInt32) -> Int { Int(hash) & (slots.count - 1) }

    /// The next audience with this hash; `slot` moves past it. Nil at the empty slot where an audience with this hash
    /// is to be added.
    func audience(from slot: inout Int, of hash: UInt32) -> Int? {
        while slots[slot].stamp == stamp {
            let found = slots[slot]
            if found.hash == hash {
                slot = (slot + 1) & (slots.count - 1)
                return Int(found.audience)
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    mutating func add(_ audience: Int, of hash: UInt32, at slot: Int) {
        slots[slot] = Slot(stamp: stamp, hash: hash, audience: Int32(audience))
        count += 1
        if count * 2 > slots.count { grow() }
    }

    private mutating func grow() {
        let old = slots
        slots = [Slot](repeating: Slot(), count: old.count * 2)
        for entry in old where entry.stamp == stamp {
            var slot = start(of: entry.hash)
            while slots[slot].stamp == stamp { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = entry
        }
    }

    /// Hashes eight bytes per step.
    func hash(_ text: UnsafeRawBufferPointer) -> UInt32 {
        var hash = UInt64(truncatingIfNeeded: text.count) ^ seed
        var position = 0
        while position + 8 <= text.count {
            hash = fold(hash ^ text.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        // Rereads the last eight bytes, instead of one step for each of the remaining ones.
        let rest =
            text.count >= 8
            ? text.loadUnaligned(fromByteOffset: text.count - 8, as: UInt64.self)
            : text.reduce(0) { $0 << 8 | UInt64($1) }
        return UInt32(truncatingIfNeeded: fold(hash ^ rest))
    }

    private func fold(_ number: UInt64) -> UInt64 {
        let product = number.multipliedFullWidth(by: multiplier)
        return product.high ^ product.low
    }
}
