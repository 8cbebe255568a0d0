import Glibc

/// Reads LMDB's file page by page, without LMDB, and checks what LMDB trusts (docs/code.md §7).
///
/// LMDB does not checksum its own pages: a flipped byte can lead it anywhere, even outside the file, and one in the
/// list of free pages makes it overwrite pages that are in use, long after every entry was found sound. So if a store
/// was not closed, every page is checked before LMDB opens it: each is used exactly once, refers only to places inside
/// itself and to pages of its own, and holds keys in order within its parent's bounds. Values are left to their
/// checksums.
///
/// The layout is that of LMDB 0.9 (`mdb.c`, "struct MDB_page" to "struct MDB_meta") on a 64-bit little-endian machine.
struct PageCheck: ~Copyable {
    private static let headCount = 16
    private static let magic: UInt32 = 0xBEEF_C0DE
    private static let version: UInt32 = 1
    /// Deeper than any tree of 2^48 pages.
    private static let maxLevels = 32

    private enum Flags {
        static let branch: UInt16 = 0x01
        static let leaf: UInt16 = 0x02
        static let overflow: UInt16 = 0x04
        static let meta: UInt16 = 0x08
    }

    /// The kinds of a leaf's node.
    private enum NodeFlags {
        static let bigData: UInt16 = 0x01
        static let subData: UInt16 = 0x02
    }

    /// A B-tree, as its parent or a meta page describes it ("struct MDB_db").
    private struct Tree {
        static let byteCount = 48
        static let noRoot = UInt64.max
        static let integerKeys: UInt16 = 0x08
        let flags: UInt16
        let depth: UInt16
        let branches: UInt64
        let leaves: UInt64
        let overflows: UInt64
        let entries: UInt64
        let root: UInt64

        init(_ bytes: UnsafeRawBufferPointer) {
            flags = bytes.number(at: 4)
            depth = bytes.number(at: 6)
            branches = bytes.number(at: 8)
            leaves = bytes.number(at: 16)
            overflows = bytes.number(at: 24)
            entries = bytes.number(at: 32)
            root = bytes.number(at: 40)
        }
    }

    /// What a walk through a tree has counted, to be compared with the counts that the tree gives.
    private struct Tally {
        var depth = 0
        var branches: UInt64 = 0
        var leaves: UInt64 = 0
        var overflows: UInt64 = 0
        var entries: UInt64 = 0
    }

    /// What the entries of a tree are.
    private enum Content {
        case freePages, trees, values

        /// Whether its keys are numbers of eight bytes, and not texts.
        var hasNumbers: Bool {
            switch self {
            case .freePages: true
            case .trees, .values: false
            }
        }
    }

    /// Why the file is damaged; ends the check.
    private struct Problem: Error {
        let sentence: String

        init(_ sentence: String) { self.sentence = sentence }
    }

    private let file: UnsafeRawBufferPointer
    /// That of the system that created the file.
    private let pageSize: Int
    private var isTaken: [Bool] = []

    private init(_ file: UnsafeRawBufferPointer) throws(Problem) {
        // From the first meta page; the second is compared with it.
        let size: UInt32 = file.count >= 44 ? file.number(at: Self.headCount + 24) : 0
        guard 512...32_768 ~= size, size & (size - 1) == 0, file.count >= 2 * Int(size) else {
            throw Problem("\(file.count) bytes, and no page size")
        }
        self.file = file
        pageSize = Int(size)
    }

    /// Throws if the data file of a folder is damaged. 0.1 s for a million devices, with the file in memory.
    static func check(_ folder: StoreFolder) throws(StoreError) {
        let descriptor = open(folder.dataFile, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreError(code: errno, doing: "check", in: folder.path) }
        defer { close(descriptor) }
        let length = folder.dataLength
        guard length > 0, let start = mmap(nil, length, PROT_READ, MAP_SHARED, descriptor, 0), start != MAP_FAILED
        else { throw StoreError(code: errno, doing: "check", in: folder.path) }
        defer { munmap(start, length) }
        do throws(Problem) {
            var check = try PageCheck(UnsafeRawBufferPointer(start: start, count: length))
            try check.run()
        } catch {
            throw StoreError(
                .damaged, "the store in \(folder.path) is damaged (\(error.sentence)); delete it, and it is rebuilt")
        }
    }

    private mutating func run() throws(Problem) {
        let metas = [try meta(0), try meta(1)]
        let meta = metas[0].long(at: 128) >= metas[1].long(at: 128) ? metas[0] : metas[1]
        let lastPage: UInt64 = meta.number(at: 120)
        guard lastPage >= 1, lastPage < UInt64(file.count / pageSize) else {
            throw Problem("its last page is \(lastPage), its length \(file.count) bytes")
        }
        isTaken = Array(repeating: false, count: Int(lastPage) + 1)
        isTaken[0] = true
        isTaken[1] = true
        let freePages = Tree(UnsafeRawBufferPointer(rebasing: meta[24..<24 + Tree.byteCount]))
        let trees = Tree(UnsafeRawBufferPointer(rebasing: meta[72..<72 + Tree.byteCount]))
        try walk(freePages, of: .freePages, flags: Tree.integerKeys)
        try walk(trees, of: .trees, flags: 0)
    }

    /// The meta page with this number, without its header.
    private func meta(_ number: Int) throws(Problem) -> UnsafeRawBufferPointer {
        let page = UnsafeRawBufferPointer(rebasing: file[number * pageSize..<(number + 1) * pageSize])
        let meta = UnsafeRawBufferPointer(rebasing: page[Self.headCount...])
        guard page.number(at: 0) == UInt64(number), page.number(at: 10) == Flags.meta,
            meta.number(at: 0) == Self.magic, meta.number(at: 4) == Self.version,
            meta.number(at: 24) == UInt32(pageSize)
        else { throw Problem("meta page \(number) is invalid") }
        return meta
    }

    private mutating func walk(_ tree: Tree, of content: Content, flags: UInt16) throws(Problem) {
        guard tree.flags == flags else { throw Problem("a tree has the flags \(tree.flags)") }
        var tally = Tally()
        if tree.root != Tree.noRoot {
            tally.depth = try walk(tree.root, of: content, level: 1, from: nil, to: nil, &tally)
        }
        guard tally.depth == Int(tree.depth), tally.branches == tree.branches, tally.leaves == tree.leaves,
            tally.overflows == tree.overflows, tally.entries == tree.entries
        else { throw Problem("a tree does not hold the pages and entries that it counts") }
    }

    /// Walks a page and everything below it; its keys are at least `first` and less than `end`.
    ///
    /// - Returns: the level of the leaves.
    private mutating func walk(
        _ number: UInt64, of content: Content, level: Int, from first: UnsafeRawBufferPointer?,
        to end: UnsafeRawBufferPointer?, _ tally: inout Tally
    ) throws(Problem) -> Int {
        guard level <= Self.maxLevels else { throw Problem("a tree is too deep") }
        let page = try take(number, count: 1)
        let isLeaf: Bool
        switch page.number(at: 10) as UInt16 {
        case Flags.branch: isLeaf = false
        case Flags.leaf: isLeaf = true
        case let flags: throw Problem("page \(number) has the flags \(flags)")
        }
        let nodes = try nodes(of: page, number)
        try checkOrder(nodes, isLeaf: isLeaf, content, from: first, to: end, number)
        if isLeaf {
            tally.leaves += 1
            tally.entries += UInt64(nodes.count)
            for node in nodes { try checkEntry(node, of: content, number, &tally) }
            return level
        }
        tally.branches += 1
        var depth = 0
        for (index, node) in nodes.enumerated() {
            let lower = index == 0 ? first : node.key
            let upper = index + 1 < nodes.count ? nodes[index + 1].key : end
            let found = try walk(node.child, of: content, level: level + 1, from: lower, to: upper, &tally)
            guard index == 0 || found == depth else { throw Problem("a tree is uneven") }
            depth = found
        }
        return depth
    }

    /// Marks pages as used and returns them.
    private mutating func take(_ number: UInt64, count: UInt64) throws(Problem) -> UnsafeRawBufferPointer {
        let (end, overflow) = number.addingReportingOverflow(count)
        guard !overflow, count > 0, number >= 2, end <= UInt64(isTaken.count) else {
            throw Problem("page \(number) is outside the file")
        }
        for page in Int(number)..<Int(end) {
            guard !isTaken[page] else { throw Problem("page \(page) is used twice") }
            isTaken[page] = true
        }
        let bytes = UnsafeRawBufferPointer(rebasing: file[Int(number) * pageSize..<Int(end) * pageSize])
        guard bytes.number(at: 0) == number else { throw Problem("page \(number) has the number of another one") }
        return bytes
    }
}

extension PageCheck {
    /// A node of a branch or a leaf ("struct MDB_node").
    private struct Node {
        static let headCount = 8
        let low: UInt16
        let high: UInt16
        let flags: UInt16
        let key: UnsafeRawBufferPointer
        /// What follows the key, to the end of the page.
        let rest: UnsafeRawBufferPointer

        var child: UInt64 { dataCount | UInt64(flags) << 32 }
        var dataCount: UInt64 { UInt64(low) | UInt64(high) << 16 }
    }

    /// The nodes of a page, each checked to lie inside it.
    private func nodes(of page: UnsafeRawBufferPointer, _ number: UInt64) throws(Problem) -> [Node] {
        let lower = Int(page.number(at: 12) as UInt16)
        let upper = Int(page.number(at: 14) as UInt16)
        guard lower > Self.headCount, lower % 2 == 0, lower <= upper, upper <= pageSize else {
            throw Problem("page \(number) is filled from \(lower) to \(upper)")
        }
        var nodes: [Node] = []
        nodes.reserveCapacity((lower - Self.headCount) / 2)
        for place in stride(from: Self.headCount, to: lower, by: 2) {
            let start = Int(page.number(at: place) as UInt16)
            guard start >= upper, start % 2 == 0, start + Node.headCount <= pageSize else {
                throw Problem("a node of page \(number) is outside it")
            }
            let keyCount = Int(page.number(at: start + 6) as UInt16)
            let rest = start + Node.headCount + keyCount
            guard rest <= pageSize else { throw Problem("a key of page \(number) is outside it") }
            nodes.append(
                Node(
                    low: page.number(at: start), high: page.number(at: start + 2), flags: page.number(at: start + 4),
                    key: UnsafeRawBufferPointer(rebasing: page[start + Node.headCount..<rest]),
                    rest: UnsafeRawBufferPointer(rebasing: page[rest...])))
        }
        return nodes
    }

    /// LMDB ignores the first key of a branch: everything before the second one is below it.
    private func checkOrder(
        _ nodes: [Node], isLeaf: Bool, _ content: Content, from first: UnsafeRawBufferPointer?,
        to end: UnsafeRawBufferPointer?, _ number: UInt64
    ) throws(Problem) {
        let hasNumbers = content.hasNumbers
        let keys = nodes.dropFirst(isLeaf ? 0 : 1).map(\.key)
        guard !hasNumbers || keys.allSatisfy({ $0.count == 8 }) else {
            throw Problem("page \(number) has a key that is not a number")
        }
        func isBefore(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
            if hasNumbers { return left.long(at: 0) < right.long(at: 0) }
            guard let start = left.baseAddress, let other = right.baseAddress else { return left.count < right.count }
            let difference = memcmp(start, other, min(left.count, right.count))
            return difference < 0 || difference == 0 && left.count < right.count
        }
        let isInOrder = zip(keys, keys.dropFirst()).allSatisfy { isBefore($0, $1) }
        let startsAtFirst = first.map { first in keys.first.map { !isBefore($0, first) } ?? true } ?? true
        let isBeforeEnd = end.map { end in keys.last.map { isBefore($0, end) } ?? true } ?? true
        guard isInOrder, startsAtFirst, isBeforeEnd else {
            throw Problem("the keys of page \(number) are out of order")
        }
    }

    private mutating func checkEntry(
        _ node: Node, of content: Content, _ page: UInt64, _ tally: inout Tally
    ) throws(Problem) {
        switch (content, node.flags) {
        case (.trees, NodeFlags.subData):
            guard node.dataCount == UInt64(Tree.byteCount), node.rest.count >= Tree.byteCount else {
                throw Problem("page \(page) describes a tree in \(node.dataCount) bytes")
            }
            try walk(Tree(UnsafeRawBufferPointer(rebasing: node.rest[..<Tree.byteCount])), of: .values, flags: 0)
        case (.freePages, 0), (.values, 0):
            guard node.dataCount <= UInt64(node.rest.count) else {
                throw Problem("a value of page \(page) is outside it")
            }
            let value = UnsafeRawBufferPointer(rebasing: node.rest[..<Int(node.dataCount)])
            if content == .freePages { try takeFree(value) }
        case (.freePages, NodeFlags.bigData), (.values, NodeFlags.bigData):
            guard node.rest.count >= 8 else { throw Problem("a value of page \(page) is outside it") }
            let needed = (UInt64(Self.headCount) + node.dataCount + UInt64(pageSize) - 1) / UInt64(pageSize)
            let pages = try take(node.rest.number(at: 0), count: needed)
            guard pages.number(at: 10) == Flags.overflow, pages.number(at: 12) == UInt32(needed) else {
                throw Problem("page \(page) has a value on pages of another kind")
            }
            tally.overflows += needed
            let end = Self.headCount + Int(node.dataCount)
            if content == .freePages { try takeFree(UnsafeRawBufferPointer(rebasing: pages[Self.headCount..<end])) }
        default:
            throw Problem("page \(page) has an entry with the flags \(node.flags)")
        }
    }

    /// A list of free pages: their count, and their numbers in descending order.
    private mutating func takeFree(_ list: UnsafeRawBufferPointer) throws(Problem) {
        // LMDB may leave room after them.
        guard list.count >= 8, list.count % 8 == 0, list.long(at: 0) <= UInt64(list.count / 8 - 1) else {
            throw Problem("a list of free pages does not have the length that it gives")
        }
        let count = Int(list.long(at: 0))
        var previous = UInt64.max
        for place in stride(from: 8, through: count * 8, by: 8) {
            let page: UInt64 = list.number(at: place)
            guard page < previous, page >= 2, page < UInt64(isTaken.count), !isTaken[Int(page)] else {
                throw Problem("page \(page) is free and in use")
            }
            isTaken[Int(page)] = true
            previous = page
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func long(at place: Int) -> UInt64 { number(at: place) }

    fileprivate func number<Number: FixedWidthInteger & BitwiseCopyable>(at place: Int) -> Number {
        Number(littleEndian: loadUnaligned(fromByteOffset: place, as: Number.self))
    }
}
