/// What is known of an order, at the front of its block: 96 bytes, followed by its marks and its texts.
///
/// Each member has the time of the record that set it, in seconds since 1970; 0 if no record did. The layout is the
/// same in memory and on disk: a checkpoint stores blocks unchanged (``OrderBlock/version``).
struct OrderHeader {
    /// The event time of the event that was applied last.
    var lastTime = WallTime.epoch
    var idCount: UInt16 = 0
    var placeCount: UInt16 = 0
    var visibleCount: UInt16 = 0
    var parentCount: UInt16 = 0
    var statusCount: UInt16 = 0
    var markCount: UInt8 = 0
    var flags = Flags()
    var slotStart: Int16 = 0
    var slotEnd: Int16 = 0
    /// Days since 1970, each in the place's zone: the delivery date, the order's own date, and the date of the event
    /// with the slot.
    var date: Int32 = 0
    var orderDate: Int32 = 0
    var slotDate: Int32 = 0
    /// When the slot starts, in seconds since 1970; 0 if the order has no timers.
    var start: UInt32 = 0
    /// The time of the record that set ``start``.
    var startSetAt: UInt32 = 0
    var timeAt: UInt32 = 0
    var statusAt: UInt32 = 0
    var slotAt: UInt32 = 0
    var dateAt: UInt32 = 0
    var orderDateAt: UInt32 = 0
    var placeAt: UInt32 = 0
    var visibleAt: UInt32 = 0
    var parentAt: UInt32 = 0
    var typeAt: UInt32 = 0
    /// The partition's time at the last record that touched it, whether or not it was applied.
    var touchedAt: UInt32 = 0
    /// The offset of that record; no two orders of a partition have the same.
    var lastOffset: Int64 = -1

    struct Flags: OptionSet {
        var rawValue: UInt16 = 0
        static let food = Flags(rawValue: 1)
        static let d2d = Flags(rawValue: 2)
        /// The status is final: the order has ended.
        static let isTerminal = Flags(rawValue: 4)
        /// The status is one of an order that is still to be picked.
        static let isUnpicked = Flags(rawValue: 8)
        /// The first mark is not an identity but the event time of the latest end.
        static let hasEnd = Flags(rawValue: 16)
        /// The slot came without a date, so the date of its event counts.
        static let hasSlotDate = Flags(rawValue: 32)
        /// Changed since the last checkpoint.
        static let isDirty = Flags(rawValue: 64)
        /// The last record that touched it ended it, and nothing else is left of it.
        static let isOnlyEnd = Flags(rawValue: 128)
        /// The checkpoint has it, perhaps as it was before.
        static let isStored = Flags(rawValue: 256)
    }
}

extension OrderHeader.Flags {
    /// At most one of them is set: the order's type; neither if no record set it.
    static let orderTypes = OrderType.allCases.reduce(into: Self()) { $0.insert(Self($1)) }

    init(_ type: OrderType) {
        switch type {
        case .food: self = .food
        case .d2d: self = .d2d
        }
    }

    /// Nil if there is none, and for bits that this version does not write.
    var orderType: OrderType? {
        let found = intersection(.orderTypes)
        return OrderType.allCases.first { found == Self($0) }
    }
}

/// Something that an order remembers and that expires on its own: the identity of an event, or the order's end.
struct OrderMark: Equatable {
    var value: UInt64
    /// When it expires, in seconds since 1970.
    var until: UInt32
}

/// The block of one order in memory.
///
///     header · marks (12 bytes each) · order id · place · visible id · parent · status
package struct OrderBlock {
    package static let version: UInt8 = 2
    static let headerSize = MemoryLayout<OrderHeader>.size
    static let markSize = 12
    /// A longer text of an order is not remembered, and of an order with a longer id nothing is (ADR 52).
    static let maxText = 64
    static let maxID = 255
    /// What an order counts as against the limit, beside its id: the largest that it can be, and its share of the index.
    static let countedSize = headerSize + OrderDraft.maxMarks * markSize + 4 * maxText + 20

    let base: UnsafeRawPointer

    init(_ base: UnsafeRawPointer) {
        self.base = base
    }

    var header: OrderHeader { base.loadUnaligned(as: OrderHeader.self) }

    var size: Int {
        let header = header
        return Self.headerSize + Int(header.markCount) * Self.markSize + Int(header.idCount) + Int(header.placeCount)
            + Int(header.visibleCount) + Int(header.parentCount) + Int(header.statusCount)
    }

    package var id: UnsafeRawBufferPointer {
        let header = header
        return UnsafeRawBufferPointer(
            start: base + Self.headerSize + Int(header.markCount) * Self.markSize, count: Int(header.idCount))
    }

    func mark(_ index: Int) -> OrderMark {
        let mark = base + Self.headerSize + index * Self.markSize
        return OrderMark(
            value: mark.loadUnaligned(as: UInt64.self), until: mark.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    }
}

/// An order before it is written to a block: its members in a header, and where its texts are.
struct OrderDraft {
    /// The latest end and the last 8 identities.
    static let maxMarks = 9

    var header = OrderHeader()
    /// Newest first, after the end if there is one.
    var marks = InlineArray<9, OrderMark>(repeating: OrderMark(value: 0, until: 0))
    var id: UnsafeRawBufferPointer
    var place = UnsafeRawBufferPointer(start: nil, count: 0)
    var visibleID = UnsafeRawBufferPointer(start: nil, count: 0)
    var parentID = UnsafeRawBufferPointer(start: nil, count: 0)
    var status = UnsafeRawBufferPointer(start: nil, count: 0)

    init(id: UnsafeRawBufferPointer) {
        self.id = id
    }

    /// Reads a block, which must not change while the draft is used.
    init(reading block: OrderBlock) {
        header = block.header
        for index in 0..<Int(header.markCount) { marks[index] = block.mark(index) }
        var text = block.base + OrderBlock.headerSize + Int(header.markCount) * OrderBlock.markSize
        func next(_ count: UInt16) -> UnsafeRawBufferPointer {
            defer { text += Int(count) }
            return UnsafeRawBufferPointer(start: text, count: Int(count))
        }
        id = next(header.idCount)
        self.place = next(header.placeCount)
        visibleID = next(header.visibleCount)
        parentID = next(header.parentCount)
        status = next(header.statusCount)
    }

    var size: Int {
        OrderBlock.headerSize + Int(header.markCount) * OrderBlock.markSize + id.count + place.count + visibleID.count
            + parentID.count + status.count
    }

    /// Writes ``size`` bytes. None of the draft's texts may be in the target.
    mutating func write(to base: UnsafeMutableRawPointer) {
        header.idCount = UInt16(truncatingIfNeeded: id.count)
        header.placeCount = UInt16(truncatingIfNeeded: place.count)
        header.visibleCount = UInt16(truncatingIfNeeded: visibleID.count)
        header.parentCount = UInt16(truncatingIfNeeded: parentID.count)
        header.statusCount = UInt16(truncatingIfNeeded: status.count)
        base.storeBytes(of: header, as: OrderHeader.self)
        var next = base + OrderBlock.headerSize
        for index in 0..<Int(header.markCount) {
            next.storeBytes(of: marks[index].value, as: UInt64.self)
            next.storeBytes(of: marks[index].until, toByteOffset: 8, as: UInt32.self)
            next += OrderBlock.markSize
        }
        func append(_ text: UnsafeRawBufferPointer) {
            guard let start = text.baseAddress else { return }
            next.copyMemory(from: start, byteCount: text.count)
            next += text.count
        }
        append(id)
        append(place)
        append(visibleID)
        append(parentID)
        append(status)
    }
}
