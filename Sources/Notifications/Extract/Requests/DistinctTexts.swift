import NotificationPayload

/// Texts without repetitions, in the order in which they first came. Owns none of them.
///
/// The first few are compared one by one, more of them by a table that is reused: a request may have hundreds of
/// thousands of keys.
struct DistinctTexts: ~Copyable {
    private static let fewEnough = 8

    private(set) var texts: [UnsafeRawBufferPointer] = []
    /// Positions in ``texts``, counted from 1; 0 is a free slot.
    private var table: [UInt32] = []
    /// How many slots of the table are in use, a power of two; 0 where it is not needed.
    private var slots = 0

    /// Adds a text if it is new; its position.
    mutating func insert(_ text: UnsafeRawBufferPointer) -> (position: Int, isNew: Bool) {
        if let position = position(of: text) { return (position, false) }
        texts.append(text)
        if texts.count > Self.fewEnough {
            if 2 * texts.count > slots {
                grow()
            } else {
                fill(texts.count - 1)
            }
        }
        return (texts.count - 1, true)
    }

    func position(of text: UnsafeRawBufferPointer) -> Int? {
        guard slots > 0 else { return texts.firstIndex { sameBytes($0, text) } }
        var slot = Self.hash(text) & (slots - 1)
        while table[slot] != 0 {
            let position = Int(table[slot]) - 1
            if sameBytes(texts[position], text) { return position }
            slot = (slot + 1) & (slots - 1)
        }
        return nil
    }

    mutating func removeAll() {
        texts.removeAll(keepingCapacity: true)
        clear()
        slots = 0
    }

    private mutating func grow() {
        clear()
        slots = max(4 * Self.fewEnough, 2 * slots)
        if table.count < slots {
            table = Array(repeating: 0, count: slots)
        }
        for position in texts.indices {
            fill(position)
        }
    }

    private mutating func clear() {
        for slot in 0..<slots {
            table[slot] = 0
        }
    }

    private mutating func fill(_ position: Int) {
        var slot = Self.hash(texts[position]) & (slots - 1)
        while table[slot] != 0 {
            slot = (slot + 1) & (slots - 1)
        }
        table[slot] = UInt32(position + 1)
    }

    /// Seeded per process, so that nobody can choose texts that collide; no output depends on it.
    private static func hash(_ text: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: text)
        return hasher.finalize()
    }
}
