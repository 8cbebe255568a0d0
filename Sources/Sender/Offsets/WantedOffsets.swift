/// The offsets of one topic's partition that are to be read again, ascending.
struct WantedOffsets {
    private var offsets: [Int64] = []

    var count: Int { offsets.count }

    /// - Returns: false if it is wanted already.
    mutating func insert(_ offset: Int64) -> Bool {
        let index = index(of: offset)
        guard !contains(offset, at: index) else { return false }
        offsets.insert(offset, at: index)
        return true
    }

    /// - Returns: whether it was wanted.
    mutating func remove(_ offset: Int64) -> Bool {
        let index = index(of: offset)
        guard contains(offset, at: index) else { return false }
        offsets.remove(at: index)
        return true
    }

    func contains(_ offset: Int64) -> Bool { contains(offset, at: index(of: offset)) }

    /// The first one from an offset on.
    func next(from offset: Int64) -> Int64? {
        let index = index(of: offset)
        return index < offsets.count ? offsets[index] : nil
    }

    private func contains(_ offset: Int64, at index: Int) -> Bool { index < offsets.count && offsets[index] == offset }

    private func index(of offset: Int64) -> Int {
        var (low, high) = (0, offsets.count)
        while low < high {
            let middle = (low + high) / 2
            if offsets[middle] < offset { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
