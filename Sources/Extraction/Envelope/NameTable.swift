import Glibc
import JSONReader

/// Looks up a name in a small fixed set by a perfect hash of its length and its first eight bytes.
///
/// One multiplication and one comparison per name, without a branch on the name: a `switch` over the length took 15 ns
/// per member of an order, most of it for mispredicted branches.
///
/// `@unchecked Sendable`: nothing changes after `init`, and the memory is never freed.
struct NameTable: @unchecked Sendable {
    private struct Entry {
        /// The length and the first eight bytes; a free slot has a length that no text has, not even an empty one.
        var count = -1
        var head: UInt64 = 0
        var index = 0
        var name: StaticString = ""
    }

    private static let slotBits = 6

    /// Made once for each kind of object, and never freed.
    private let entries: UnsafeMutablePointer<Entry>
    private let multiplier: UInt64

    /// - Parameter names: they differ in their length or their first eight bytes; at most 32.
    init(_ names: [StaticString]) {
        entries = .allocate(capacity: 1 << Self.slotBits)
        // Tries odd multipliers until all names have slots of their own: a few dozen attempts.
        var multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15
        while !Self.fill(entries, with: names, multiplier) {
            multiplier = multiplier &* 0xD134_2543_DE82_EF95 | 1
        }
        self.multiplier = multiplier
    }

    private static func fill(
        _ entries: UnsafeMutablePointer<Entry>, with names: [StaticString], _ multiplier: UInt64
    ) -> Bool {
        entries.initialize(repeating: Entry(), count: 1 << slotBits)
        for (index, name) in names.enumerated() {
            let count = name.utf8CodeUnitCount
            var head: UInt64 = 0
            for place in 0..<min(count, 8) {
                head |= UInt64(name.utf8Start[place]) << UInt64(8 * place)
            }
            let slot = slot(head, count, multiplier)
            if entries[slot].count >= 0 { return false }
            entries[slot] = Entry(count: count, head: head, index: index, name: name)
        }
        return true
    }

    @inline(__always)
    private static func slot(_ head: UInt64, _ count: Int, _ multiplier: UInt64) -> Int {
        let product = (head ^ UInt64(truncatingIfNeeded: count)) &* multiplier
        return Int(truncatingIfNeeded: product >> UInt64(64 - slotBits))
    }

    /// The index of a name; nil for any other text.
    @inline(__always)
    func index(of name: JSONText) -> Int? {
        let head = name.head
        let entry = entries + Self.slot(head, name.count, multiplier)
        guard entry.pointee.head == head, entry.pointee.count == name.count else { return nil }
        // Compares the rest after the first eight bytes.
        guard name.count <= 8 || name.hasTail(of: entry.pointee.name) else { return nil }
        return entry.pointee.index
    }
}
