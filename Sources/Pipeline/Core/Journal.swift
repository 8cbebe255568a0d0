import Events
import NotificationPayload
import OrderState

/// The record that each transaction writes about itself (docs/code.md: "Contracts", notifications.journal; ADR 11,
/// ADR 30): what no other topic says.
package struct JournalEntry {
    package static let version: Int64 = 2

    /// What all entries of a process have in common.
    package struct Origin: Sendable {
        package var group: String
        /// The cluster's id; nil where the broker does not report it.
        package var cluster: String?
        package var topics: PipelineConfiguration.Topics
        /// The hash of the rules.
        package var rules: String

        package init(group: String, cluster: String?, topics: PipelineConfiguration.Topics, rules: String) {
            self.group = group
            self.cluster = cluster
            self.topics = topics
            self.rules = rules
        }
    }

    /// A half-open range of offsets that the transaction covered; `from` is the offset committed before it.
    package struct Range: Equatable {
        package var partition: SourcePartition
        package var from: Int64
        package var to: Int64
        /// The first record of the range; nil where it is empty.
        package var first: RecordFingerprint?
        /// The state of orders may be incomplete, because the log no longer had what it is folded from.
        package var isIncomplete = false
        package var watermarkBefore: TimerWatermark
        package var watermarkAfter: TimerWatermark
        /// T of the tick that moved the watermark, in milliseconds since 1970; nil where it did not move.
        package var until: Int64?

        package init(
            partition: SourcePartition, from: Int64, to: Int64, first: RecordFingerprint? = nil,
            isIncomplete: Bool = false,
            watermarkBefore: TimerWatermark, watermarkAfter: TimerWatermark, until: Int64? = nil
        ) {
            self.partition = partition
            self.from = from
            self.to = to
            self.first = first
            self.isIncomplete = isIncomplete
            self.watermarkBefore = watermarkBefore
            self.watermarkAfter = watermarkAfter
            self.until = until
        }
    }

    package var ranges: [Range] = []
    /// The clock that the transaction used, in milliseconds since 1970.
    package var clock: Int64 = 0
    /// The next offset of each partition of the subscriptions topic in the snapshot that was read; nil with a host's
    /// own resolver.
    package var table: [Int64]?

    package init() {}

    /// Appends the entry as JSON, members in a fixed order.
    package func append(to buffer: inout ByteWriter, origin: Origin) {
        buffer.append(#"{"v":"#)
        buffer.append(decimal: Self.version)
        buffer.append(#","group":"#)
        buffer.append(quoted: origin.group)
        buffer.append(#","cluster":"#)
        if let cluster = origin.cluster { buffer.append(quoted: cluster) } else { buffer.append("null") }
        buffer.append(#","dispatch":"#)
        buffer.append(quoted: origin.topics.dispatch)
        buffer.append(#","ranges":["#)
        for (index, range) in ranges.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            Self.append(range, of: origin.topics.topic(of: range.partition.source), to: &buffer)
        }
        buffer.append(#"],"watermarks":["#)
        for (index, range) in ranges.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            Self.append(watermarkOf: range, of: origin.topics.topic(of: range.partition.source), to: &buffer)
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
        buffer.append(#","rules":"#)
        buffer.append(quoted: origin.rules)
        buffer.append("}")
    }

    private static func append(_ range: Range, of topic: String, to buffer: inout ByteWriter) {
        appendTopicPartition(range, of: topic, to: &buffer)
        buffer.append(#","from":"#)
        buffer.append(decimal: range.from)
        buffer.append(#","to":"#)
        buffer.append(decimal: range.to)
        if let first = range.first {
            buffer.append(#","first":{"offset":"#)
            buffer.append(decimal: first.offset)
            buffer.append(#","timestamp":"#)
            if let timestamp = first.timestamp { buffer.append(decimal: timestamp) } else { buffer.append("null") }
            buffer.append(#","key":"#)
            if let key = first.key { buffer.append(quoted: key.text) } else { buffer.append("null") }
            buffer.append("}")
        }
        if range.isIncomplete { buffer.append(#","incomplete":true"#) }
        buffer.append("}")
    }

    private static func append(watermarkOf range: Range, of topic: String, to buffer: inout ByteWriter) {
        appendTopicPartition(range, of: topic, to: &buffer)
        buffer.append(#","before":"#)
        buffer.append(decimal: range.watermarkBefore.time)
        if let split = range.watermarkBefore.splitText {
            buffer.append(#","before_p":"#)
            buffer.append(quoted: split)
        }
        buffer.append(#","after":"#)
        buffer.append(decimal: range.watermarkAfter.time)
        if let split = range.watermarkAfter.splitText {
            buffer.append(#","after_p":"#)
            buffer.append(quoted: split)
        }
        if let until = range.until {
            buffer.append(#","until":"#)
            buffer.append(decimal: until)
        }
        buffer.append("}")
    }

    private static func appendTopicPartition(_ range: Range, of topic: String, to buffer: inout ByteWriter) {
        buffer.append(#"{"topic":"#)
        buffer.append(quoted: topic)
        buffer.append(#","partition":"#)
        buffer.append(decimal: Int64(range.partition.number))
    }
}

extension ByteWriter {
    /// Appends a JSON string.
    fileprivate mutating func append(quoted text: String) {
        append(UInt8(ascii: "\""))
        appendEscaped(text)
        append(UInt8(ascii: "\""))
    }
}
