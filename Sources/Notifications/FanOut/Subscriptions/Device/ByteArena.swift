/// Bytes at addresses that do not change until the arena is emptied.
struct ByteArena: ~Copyable {
    private static let chunkSize = 256 * 1_024
    private var chunks: [UnsafeMutableRawPointer] = []
    private var current = 0
    private var used = 0

    deinit {
        for chunk in chunks {
            chunk.deallocate()
        }
    }

    /// Memory for `count` bytes, at most a quarter of a chunk.
    mutating func allocate(_ count: Int) -> UnsafeMutableRawPointer {
        precondition(count <= Self.chunkSize / 4, "an arena holds small values")
        if chunks.isEmpty || used + count > Self.chunkSize {
            current = chunks.isEmpty ? 0 : current + 1
            used = 0
            if current == chunks.count {
                chunks.append(.allocate(byteCount: Self.chunkSize, alignment: 16))
            }
        }
        defer { used += count }
        return chunks[current] + used
    }

    /// Drops the bytes and keeps the memory.
    mutating func removeAll() {
        current = 0
        used = 0
    }
}
