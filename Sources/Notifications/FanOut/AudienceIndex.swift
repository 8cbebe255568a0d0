/// Finds an audience in an ``AudienceList`` by the hash of its text. Reuses its memory, and emptying it costs nothing.
struct AudienceIndex: ~Copyable {
    private struct Place {
        /// Whether the entry is in use: one with an older stamp is empty.
        var stamp: UInt32 = 0
        var hash: UInt32 = 0
        var audience: Int32 = 0
    }

    /// Open addressing, at most half full; a power of two.
    private var places = [Place](repeating: Place(), count: 1_024)
    private var stamp: UInt32 = 1
    private var count = 0
    /// Random, so that nobody can choose audiences that collide; no output depends on them.
    private let seed = UInt64.random(in: .min ... .max)
    private let multiplier = UInt64.random(in: .min ... .max) | 1

    mutating func removeAll() {
        count = 0
        stamp &+= 1
        if stamp == 0 {
            places = [Place](repeating: Place(), count: places.count)
            stamp = 1
        }
    }

    /// The first place to look for a hash.
    func start(of hash: UInt32) -> Int { Int(hash) & (places.count - 1) }

    /// The next audience with this hash; `place` moves past it. Nil at the empty place where an audience with this hash
    /// is to be added.
    func audience(from place: inout Int, of hash: UInt32) -> Int? {
        while places[place].stamp == stamp {
            let found = places[place]
            if found.hash == hash {
                place = (place + 1) & (places.count - 1)
                return Int(found.audience)
            }
            place = (place + 1) & (places.count - 1)
        }
        return nil
    }

    mutating func add(_ audience: Int, of hash: UInt32, at place: Int) {
        places[place] = Place(stamp: stamp, hash: hash, audience: Int32(audience))
        count += 1
        if count * 2 > places.count { grow() }
    }

    private mutating func grow() {
        let old = places
        places = [Place](repeating: Place(), count: old.count * 2)
        for entry in old where entry.stamp == stamp {
            var place = start(of: entry.hash)
            while places[place].stamp == stamp { place = (place + 1) & (places.count - 1) }
            places[place] = entry
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
