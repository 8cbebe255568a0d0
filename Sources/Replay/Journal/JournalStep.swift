import JSONReader
import Pipeline

/// What one transaction did to one partition, as its record in notifications.journal says.
package struct JournalStep: Equatable, Sendable {
    package var partition: Int32
    /// The half-open range of offsets that it covered; empty where it only let timers go.
    package var from: Int64
    package var to: Int64
    /// The timer watermark, in milliseconds since 1970.
    package var watermarkBefore: Int64
    package var watermarkAfter: Int64
    /// The transaction's clock, in milliseconds since 1970.
    package var clock: Int64
    /// The next offset of each partition of the subscriptions topic in the table that it saw; nil with a host's own resolver.
    package var table: [Int64]?
    /// The hash of the rules that it was written under.
    package var rules: String
    /// Where its record stands in the journal.
    package var place: Coordinates

    package init(
        partition: Int32, from: Int64, to: Int64, watermarkBefore: Int64, watermarkAfter: Int64, clock: Int64,
        table: [Int64]?, rules: String, place: Coordinates
    ) {
        self.partition = partition
        self.from = from
        self.to = to
        self.watermarkBefore = watermarkBefore
        self.watermarkAfter = watermarkAfter
        self.clock = clock
        self.table = table
        self.rules = rules
        self.place = place
    }

    /// Whether timers went at its end.
    package var hasTick: Bool { watermarkAfter > watermarkBefore }

    /// Whether the records of `range`, or timers that went between two of them, are among what it did. Timers at an offset
    /// come before the record there.
    package func touches(_ range: Range<Int64>) -> Bool {
        from < to ? from < range.upperBound && to > range.lowerBound : range.lowerBound < to && to <= range.upperBound
    }
}

/// Reads records of the journal. One owner; the memory is used again.
package struct JournalParser: ~Copyable {
    private var reader = JSONReader()
    private let topic: String

    /// - Parameter topic: whose ranges count; a journal may be shared.
    package init(topic: String) {
        self.topic = topic
    }

    /// The steps of one record; nil where it is no journal record.
    package mutating func steps(_ value: UnsafeRawBufferPointer?, at place: Coordinates) -> [JournalStep]? {
        guard let value, let document = try? reader.parse(value), document.isObject,
            let ranges = document.member("ranges"), ranges.isArray,
            let clock = document.member("clock")?.integer, let rules = document.member("rules")?.string,
            let watermarks = document.member("watermarks").flatMap(Self.watermarks)
        else { return nil }
        let table = document.member("table").flatMap(Self.offsets)
        let hash = String(decoding: rules.bytes, as: UTF8.self)
        var steps: [JournalStep] = []
        var elements = ranges.elements
        while let range = elements.next() {
            guard let partition = range.member("partition")?.integer.flatMap(Int32.init(exactly:)),
                let from = range.member("from")?.integer, let to = range.member("to")?.integer, from >= 0, from <= to,
                let watermark = watermarks[partition], let name = range.member("topic")?.string
            else { return nil }
            guard String(decoding: name.bytes, as: UTF8.self) == topic else { continue }
            steps.append(
                JournalStep(
                    partition: partition, from: from, to: to, watermarkBefore: watermark.before,
                    watermarkAfter: watermark.after, clock: clock, table: table, rules: hash, place: place))
        }
        return steps
    }

    private static func watermarks(_ list: JSONValue) -> [Int32: (before: Int64, after: Int64)]? {
        var found: [Int32: (before: Int64, after: Int64)] = [:]
        var elements = list.elements
        while let element = elements.next() {
            guard let partition = element.member("partition")?.integer.flatMap(Int32.init(exactly:)),
                let before = element.member("before")?.integer, let after = element.member("after")?.integer
            else { return nil }
            found[partition] = (before, after)
        }
        return found
    }

    private static func offsets(_ list: JSONValue) -> [Int64]? {
        guard list.isArray else { return nil }
        var offsets: [Int64] = []
        var elements = list.elements
        while let offset = elements.next()?.integer { offsets.append(offset) }
        return offsets
    }
}
