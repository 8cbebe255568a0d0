/// A bit for each offset of a range of each partition.
struct OffsetBits {
    private let ranges: [Int32: Range<Int64>]
    private var words: [Int32: [UInt64]] = [:]

    /// - Parameter ranges: by partition; one word for 64 offsets.
    init(_ ranges: [Int32: Range<Int64>]) {
        self.ranges = ranges
        for (partition, range) in ranges {
            words[partition] = [UInt64](repeating: 0, count: (range.count + 63) / 64)
        }
    }

    func contains(_ place: Coordinates) -> Bool {
        guard let (word, bit) = find(place) else { return false }
        return (words[place.partition]?[word] ?? 0) & bit != 0
    }

    /// - Returns: whether it was not there; nil for an offset of no range.
    @discardableResult
    mutating func insert(_ place: Coordinates) -> Bool? {
        guard let (word, bit) = find(place) else { return nil }
        let before = words[place.partition]?[word] ?? 0
        words[place.partition]?[word] = before | bit
        return before & bit == 0
    }

    private func find(_ place: Coordinates) -> (word: Int, bit: UInt64)? {
        guard let range = ranges[place.partition], range.contains(place.offset) else { return nil }
        let index = Int(place.offset - range.lowerBound)
        return (index / 64, 1 << UInt64(index % 64))
    }
}
