import NotificationPayload

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
    package func append(to buffer: inout ByteWriter, topic: String, rules: String) {
        buffer.append(#"{"ranges":["#)
        for (index, range) in ranges.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            buffer.append(#"{"topic":""#)
            buffer.append(topic)
            buffer.append(#"","partition":"#)
            buffer.append(decimal: Int64(range.partition))
            buffer.append(#","from":"#)
            buffer.append(decimal: range.from)
            buffer.append(#","to":"#)
            buffer.append(decimal: range.to)
            buffer.append(UInt8(ascii: "}"))
        }
        buffer.append(#"],"watermarks":["#)
        for (index, range) in ranges.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            buffer.append(#"{"partition":"#)
            buffer.append(decimal: Int64(range.partition))
            buffer.append(#","before":"#)
            buffer.append(decimal: range.watermarkBefore)
            buffer.append(#","after":"#)
            buffer.append(decimal: range.watermarkAfter)
            buffer.append(UInt8(ascii: "}"))
        }
        buffer.append(#"],"clock":"#)
        buffer.append(decimal: clock)
        buffer.append(#","table":"#)
        if let table {
            buffer.append(UInt8(ascii: "["))
            for (index, offset) in table.enumerated() {
                if index > 0 { buffer.append(UInt8(ascii: ",")) }
                buffer.append(decimal: offset)
            }
            buffer.append(UInt8(ascii: "]"))
        } else {
            buffer.append("null")
        }
        buffer.append(#","rules":""#)
        buffer.append(rules)
        buffer.append(#""}"#)
    }
}
