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
        /// All bytes, never freed.
        var name = UnsafeRawBufferPointer(start: nil, count: 0)
    }

    private static let slotBits = 6

    /// Made once for each kind of object, and never freed.
    private let entries: UnsafeMutablePointer<Entry>
    private let multiplier: UInt64
    /// By member of an envelope, its index; never freed.
    private let envelope: UnsafeMutablePointer<Int>
    /// The number of the object's own names. They come first, then those that only envelopes have.
    let ownCount: Int

    /// The names differ in their length or their first eight bytes, and are at most 32.
    ///
    /// - Parameter isInEnvelope: whether the object may also be an envelope; a name that both have is one member.
    init<Name: MemberName>(_ type: Name.Type, isInEnvelope: Bool = false) {
        var names = Name.allCases.map(\.rawValue)
        precondition(Name.allCases.enumerated().allSatisfy { Self.index(of: $1) == $0 })
        ownCount = names.count
        envelope = .allocate(capacity: EnvelopeMember.allCases.count)
        envelope.initialize(repeating: 0, count: EnvelopeMember.allCases.count)
        for member in EnvelopeMember.allCases where isInEnvelope {
            let index = names.firstIndex(of: member.rawValue) ?? names.count
            if index == names.count { names.append(member.rawValue) }
            envelope[Self.index(of: member)] = index
        }
        entries = .allocate(capacity: 1 << Self.slotBits)
        // Tries odd multipliers until all names have slots of their own: a few dozen attempts.
        var multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15
        let bytes = names.map(LastingText.bytes(of:))
        while !Self.fill(entries, with: bytes, multiplier) {
            multiplier = multiplier &* 0xD134_2543_DE82_EF95 | 1
        }
        self.multiplier = multiplier
    }

    /// The position of a case among all cases: an enumeration of names alone is laid out as this number, which `init`
    /// checks.
    @inline(__always)
    static func index<Name: CaseIterable>(of name: Name) -> Int { Int(unsafeBitCast(name, to: UInt8.self)) }

    /// The index of a member of an envelope.
    @inline(__always)
    func index(of member: EnvelopeMember) -> Int { envelope[Self.index(of: member)] }

    private static func fill(
        _ entries: UnsafeMutablePointer<Entry>, with names: [UnsafeRawBufferPointer], _ multiplier: UInt64
    ) -> Bool {
        entries.initialize(repeating: Entry(), count: 1 << slotBits)
        for (index, name) in names.enumerated() {
            var head: UInt64 = 0
            for (byteIndex, byte) in name.prefix(8).enumerated() { head |= UInt64(byte) << UInt64(8 * byteIndex) }
            let slot = slot(head, name.count, multiplier)
            if entries[slot].count >= 0 { return false }
            entries[slot] = Entry(count: name.count, head: head, index: index, name: name)
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
