/// Memory for blocks of every size, in steps of 16 bytes. A freed block is reused for the next block of its size.
///
/// A block is named by a number from 1: its index in units of 16 bytes. Blocks never move. One owner.
struct OrderArena: ~Copyable {
    static let unit = 16
    /// 256 KiB, the largest size of a block.
    private static let unitsPerChunk = 1 << 14
    private static let chunkShift = 14

    private var chunks: [UnsafeMutableRawPointer] = []
    /// The next unit that was never used, counted from 0 over all chunks. Unit 0 is unused, since 0 names no block.
    private var next = 1
    /// The block freed last, by its size in units; its first four bytes name the one freed before it.
    private var free: [UInt32] = []
    /// The size of all blocks in use, in bytes.
    private(set) var usedBytes = 0

    deinit {
        for chunk in chunks { chunk.deallocate() }
    }

    /// The memory taken from the system, in bytes.
    var reservedBytes: Int { chunks.count * Self.unitsPerChunk * Self.unit }

    static func units(for size: Int) -> Int { (size + unit - 1) / unit }

    func address(of block: UInt32) -> UnsafeMutableRawPointer {
        let index = Int(block)
        return chunks[index >> Self.chunkShift] + (index & (Self.unitsPerChunk - 1)) * Self.unit
    }

    /// - Parameter units: the size in units of 16 bytes; at most 256 KiB.
    mutating func allocate(units: Int) -> UInt32 {
        usedBytes += units * Self.unit
        if units < free.count, free[units] != 0 {
            let block = free[units]
            free[units] = address(of: block).load(as: UInt32.self)
            return block
        }
        let left = chunks.count * Self.unitsPerChunk - next
        if left < units || chunks.isEmpty {
            if left > 0, !chunks.isEmpty { giveBack(UInt32(next), units: left) }
            next = max(chunks.count * Self.unitsPerChunk, 1)
            chunks.append(
                UnsafeMutableRawPointer.allocate(byteCount: Self.unitsPerChunk * Self.unit, alignment: Self.unit))
        }
        let block = UInt32(next)
        next += units
        return block
    }

    mutating func release(_ block: UInt32, units: Int) {
        usedBytes -= units * Self.unit
        giveBack(block, units: units)
    }

    private mutating func giveBack(_ block: UInt32, units: Int) {
        if units >= free.count {
            free.append(contentsOf: repeatElement(0, count: units + 1 - free.count))
        }
        address(of: block).storeBytes(of: free[units], as: UInt32.self)
        free[units] = block
    }
}
