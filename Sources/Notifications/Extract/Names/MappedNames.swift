import JSONReader

/// The mapped names of one kind of object, compiled: the first name of each path is found in the pass that finds the known
/// members, and the rest of the path is walked from there.
struct MappedNames: Sendable {
    /// The first name of some paths.
    private struct Entry {
        /// A free slot has a length that no text has.
        var count = -1
        /// The first eight bytes.
        var head: UInt64 = 0
        /// Where it begins in ``names``.
        var start = 0
        var index = 0
    }

    private static let slotBits = 8

    private var slots = [Entry](repeating: Entry(), count: 1 << slotBits)
    private var names: [UInt8] = []
    /// The number of different first names.
    private(set) var firstCount = 0
    /// Of all members, one after the other; each with the index of its first name.
    private var paths: [(first: Int, path: MemberPath)] = []
    /// By member, in the order of its cases, positions in ``paths``.
    private var ranges: [Range<Int>] = []

    /// Nil without any path.
    init?<Member: CaseIterable & Hashable>(_ mapped: [Member: [MemberPath]]) {
        guard mapped.contains(where: { !$0.value.isEmpty }) else { return nil }
        var firsts: [[UInt8]] = []
        for member in Member.allCases {
            let start = paths.count
            for path in mapped[member] ?? [] {
                let first = path.first
                let index = firsts.firstIndex(of: first) ?? firsts.count
                if index == firsts.count {
                    firsts.append(first)
                    insert(first, index)
                }
                paths.append((index, path))
            }
            ranges.append(start..<paths.count)
        }
        firstCount = firsts.count
    }

    private mutating func insert(_ name: [UInt8], _ index: Int) {
        var head: UInt64 = 0
        for (byteIndex, byte) in name.prefix(8).enumerated() { head |= UInt64(byte) << UInt64(8 * byteIndex) }
        var slot = Self.slot(head, name.count)
        while slots[slot].count >= 0 { slot = (slot + 1) % slots.count }
        slots[slot] = Entry(count: name.count, head: head, start: names.count, index: index)
        names += name
    }

    @inline(__always)
    private static func slot(_ head: UInt64, _ count: Int) -> Int {
        let product = (head ^ UInt64(truncatingIfNeeded: count)) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: product >> UInt64(64 - slotBits))
    }

    /// The index of a first name; nil for any other text.
    @inline(__always)
    func index(of name: JSONText) -> Int? {
        let head = name.head
        var slot = Self.slot(head, name.count)
        while slots[slot].count >= 0 {
            let entry = slots[slot]
            if entry.head == head, entry.count == name.count, isName(name, entry) { return entry.index }
            slot = (slot + 1) % slots.count
        }
        return nil
    }

    private func isName(_ name: JSONText, _ entry: Entry) -> Bool {
        names.withUnsafeBytes {
            name == UnsafeRawBufferPointer(rebasing: $0[entry.start..<entry.start + entry.count])
        }
    }

    /// The positions of a member's paths.
    func range<Member: CaseIterable>(of member: Member) -> Range<Int> { ranges[NameTable.index(of: member)] }

    func first(of path: Int) -> Int { paths[path].first }

    /// The paths of a member whose bits are set.
    func texts<Member: CaseIterable>(of member: Member, among bits: UInt64) -> [String] {
        range(of: member).filter { bits & 1 << UInt64($0) != 0 }.map { paths[$0].path.text }
    }

    /// What a path leads to, from the value of its first name.
    func value(of path: Int, from first: JSONValue) -> JSONValue? { paths[path].path.value(fromFirst: first) }
}

/// Where the object that was read last has the first names: a view of ``MappedBuffers``, valid as long as they are, until
/// the next object of its kind is read.
struct MappedMembers {
    fileprivate let names: UnsafePointer<MappedNames>
    fileprivate let positions: UnsafeMutablePointer<UInt32>
    /// A bit for each path whose value was taken: there are at most 64.
    fileprivate let taken: UnsafeMutablePointer<UInt64>

    /// Forgets the object before.
    func clear() {
        positions.update(repeating: 0, count: names.pointee.firstCount)
        taken.pointee = 0
    }

    /// Notes that the value of a path was taken.
    func noteTaken(_ path: Int) { taken.pointee |= 1 << UInt64(path) }

    var takenPaths: UInt64 { taken.pointee }

    /// Notes a member of the object; if a name occurs twice, the last one counts.
    @inline(__always)
    func take(_ name: JSONText, _ value: JSONValue) {
        if let index = names.pointee.index(of: name) { positions[index] = value.position }
    }

    func range<Member: CaseIterable>(of member: Member) -> Range<Int> { names.pointee.range(of: member) }

    func value(of path: Int, in object: JSONValue) -> JSONValue? {
        let position = positions[names.pointee.first(of: path)]
        return position == 0 ? nil : names.pointee.value(of: path, from: object.value(at: position))
    }
}

/// The buffers of an extractor for the mapped members of the objects that it reads; nil where nothing is mapped.
struct MappedBuffers: ~Copyable {
    let body: MappedMembers?
    let order: MappedMembers?
    /// Of the body of a list, where it is read as an order beside its orders.
    let listed: MappedMembers?

    init(_ mapping: MemberMapping) {
        body = Self.make(mapping.body)
        order = Self.make(mapping.order)
        listed = Self.make(mapping.order)
    }

    deinit {
        for buffer in [body, order, listed] {
            guard let buffer else { continue }
            buffer.positions.deallocate()
            buffer.taken.deallocate()
            UnsafeMutablePointer(mutating: buffer.names).deinitialize(count: 1).deallocate()
        }
    }

    private static func make(_ names: MappedNames?) -> MappedMembers? {
        guard let names else { return nil }
        let copy = UnsafeMutablePointer<MappedNames>.allocate(capacity: 1)
        copy.initialize(to: names)
        let positions = UnsafeMutablePointer<UInt32>.allocate(capacity: names.firstCount)
        positions.initialize(repeating: 0, count: names.firstCount)
        let taken = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
        taken.initialize(to: 0)
        return MappedMembers(names: copy, positions: positions, taken: taken)
    }
}
