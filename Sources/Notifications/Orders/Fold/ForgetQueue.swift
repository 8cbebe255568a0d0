/// The orders of a partition in the order in which they are forgotten when they exceed the limit: those of which nothing counts
/// any more, then the one that was touched longest ago (ADR 52).
///
/// Made of the table when it is needed for the first time; from then on, whatever is touched is appended. An entry whose order
/// was touched again is skipped. Making it costs n log n, and an event a constant. One owner.
struct ForgetQueue {
    private struct Entry {
        var offset: Int64
        var name: UInt32

        func isCurrent(_ table: borrowing OrderTable) -> Bool { table.block(name).header.lastOffset == offset }
    }

    /// Those of one lifetime, so that the first of them expires first.
    private struct List {
        private var entries: [Entry] = []
        private var next = 0

        mutating func append(_ entry: Entry) { entries.append(entry) }

        mutating func sort() { entries.sort { $0.offset < $1.offset } }

        /// The first that is current; what is before it is passed.
        mutating func first(in table: borrowing OrderTable) -> Entry? {
            while next < entries.count, !entries[next].isCurrent(table) { next += 1 }
            return next < entries.count ? entries[next] : nil
        }

        /// Removes what is not current, if that is more than what is.
        mutating func shorten(in table: borrowing OrderTable) {
            guard entries.count > 2 * table.count + 1_024 else { return }
            var kept = 0
            for index in next..<entries.count where entries[index].isCurrent(table) {
                entries[kept] = entries[index]
                kept += 1
            }
            entries.removeLast(entries.count - kept)
            next = 0
        }
    }

    /// Those with ``OrderHeader/Flags/isOnlyEnd``.
    private var ended = List()
    private var others = List()

    init(of table: borrowing OrderTable) {
        table.visit { name, block in add(name, block.header) }
        ended.sort()
        others.sort()
    }

    private mutating func add(_ name: UInt32, _ header: OrderHeader) {
        let entry = Entry(offset: header.lastOffset, name: name)
        if header.flags.contains(.isOnlyEnd) { ended.append(entry) } else { others.append(entry) }
    }

    /// The order was touched by the newest record.
    mutating func append(_ name: UInt32, in table: borrowing OrderTable) {
        add(name, table.block(name).header)
        ended.shorten(in: table)
        others.shorten(in: table)
    }

    /// The next order to forget; nil if there is none.
    mutating func next(in table: borrowing OrderTable, isGone: (OrderHeader) -> Bool) -> UInt32? {
        let (ended, other) = (ended.first(in: table), others.first(in: table))
        guard let ended, let other else { return (ended ?? other)?.name }
        if isGone(table.block(ended.name).header) { return ended.name }
        if isGone(table.block(other.name).header) { return other.name }
        return ended.offset < other.offset ? ended.name : other.name
    }
}
