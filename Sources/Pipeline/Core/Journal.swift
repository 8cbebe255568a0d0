/// The one record that a transaction writes of itself (design: "Contracts", notifications.journal): what no other log says.
package struct JournalEntry {
    /// A half-open range of offsets that the transaction covered; `from` is the offset committed before it.
    package struct Range: Equatable {
        package var partition: Int32
        package var from: Int64
        package var to: Int64
        package var watermarkBefore: Int64
        package var watermarkAfter: Int64
    }

    package var ranges: [Range] = []
    /// The clock that the transaction used, in milliseconds since 1970.
    package var clock: Int64 = 0
    /// The next offset of each partition of the subscriptions topic in the snapshot that was read; nil with a resolver
    /// of the user's own.
    package var table: [Int64]?

    package init() {}

    /// Appends the entry as JSON, members in a fixed order.
    package func append(to buffer: inout [UInt8], topic: String, rules: String) {
        buffer.append(contentsOf: #"{"ranges":["#.utf8)
        for (index, range) in ranges.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            buffer.append(contentsOf: #"{"topic":""#.utf8)
            buffer.append(contentsOf: topic.utf8)
            buffer.append(contentsOf: #"","partition":"#.utf8)
            buffer.append(decimal: Int64(range.partition))
            buffer.append(contentsOf: #","from":"#.utf8)
            buffer.append(decimal: range.from)
            buffer.append(contentsOf: #","to":"#.utf8)
            buffer.append(decimal: range.to)
            buffer.append(UInt8(ascii: "}"))
        }
        buffer.append(contentsOf: #"],"watermarks":["#.utf8)
        for (index, range) in ranges.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            buffer.append(contentsOf: #"{"partition":"#.utf8)
            buffer.append(decimal: Int64(range.partition))
            buffer.append(contentsOf: #","before":"#.utf8)
            buffer.append(decimal: range.watermarkBefore)
            buffer.append(contentsOf: #","after":"#.utf8)
            buffer.append(decimal: range.watermarkAfter)
            buffer.append(UInt8(ascii: "}"))
        }
        buffer.append(contentsOf: #"],"clock":"#.utf8)
        buffer.append(decimal: clock)
        buffer.append(contentsOf: #","table":"#.utf8)
        if let table {
            buffer.append(UInt8(ascii: "["))
            for (index, offset) in table.enumerated() {
                if index > 0 { buffer.append(UInt8(ascii: ",")) }
                buffer.append(decimal: offset)
            }
            buffer.append(UInt8(ascii: "]"))
        } else {
            buffer.append(contentsOf: "null".utf8)
        }
        buffer.append(contentsOf: #","rules":""#.utf8)
        buffer.append(contentsOf: rules.utf8)
        buffer.append(contentsOf: #""}"#.utf8)
    }
}

extension [UInt8] {
    /// Appends a number in decimal digits; allocates nothing beyond the buffer's own growth.
    package mutating func append(decimal value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        let start = count
        repeat {
            append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        self[start...].reverse()
    }
}
