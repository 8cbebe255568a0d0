import NotificationPayload

/// Every known type of app notification, as bytes: the extraction compares them without making a string.
struct KnownAppTypes: ~Copyable {
    struct Known {
        let name: TextRange
        /// Positions in ``pairs``.
        let fixed: Range<Int>
        /// Positions in ``expected``.
        let expected: Range<Int>
    }

    struct Pair {
        let key: TextRange
        let value: TextRange
        /// `True` and `False` are compared without regard to case.
        let flag: Bool?
    }

    /// Never changes after `init`, so pointers into it stay valid.
    private var text = ByteWriter(capacity: 1024)
    private var types: [Known] = []
    private(set) var pairs: [Pair] = []
    private(set) var expected: [TextRange] = []

    init(_ added: AppTypes) {
        for type in AppTypes.documented + added.added {
            let name = append(type.name)
            let firstPair = pairs.count
            for pair in type.fixed {
                let flag = pair.value == "True" ? true : pair.value == "False" ? false : nil
                pairs.append(Pair(key: append(pair.key), value: append(pair.value), flag: flag))
            }
            let firstExpected = expected.count
            for key in type.expected {
                expected.append(append(key))
            }
            types.append(
                Known(name: name, fixed: firstPair..<pairs.count, expected: firstExpected..<expected.count))
        }
    }

    func type(named name: UnsafeRawBufferPointer) -> Known? {
        types.first { sameBytes(bytes($0.name), name) }
    }

    func bytes(_ range: TextRange) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text.bytes[range.range])
    }

    private mutating func append(_ string: String) -> TextRange {
        let start = text.count
        text.append(string)
        return TextRange(start: start, count: text.count - start)
    }
}
