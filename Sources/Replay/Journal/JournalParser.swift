import Digests
import Events
import JSONReader
import OrderState
import Pipeline

/// What a record of the journal's topic is.
package enum JournalReading: Equatable, Sendable {
    case steps([JournalStep])
    /// Not an entry of a journal.
    case unreadable
    /// An entry that another version of Carillon wrote.
    case anotherVersion
}

/// Parses journal entries (ADR 30). One owner; reuses its memory.
package struct JournalParser: ~Copyable {
    private var reader = JSONReader()
    private let sources: SourceTopics

    /// - Parameter topics: those whose events and requests are returned; a journal may be shared.
    package init(topics: PipelineConfiguration.Topics) {
        sources = SourceTopics(topics)
    }

    package mutating func read(_ value: UnsafeRawBufferPointer?, at place: Coordinates) -> JournalReading {
        guard let value, let document = try? reader.parse(value), document.isObject,
            let version = document.member("v")?.integer
        else { return .unreadable }
        guard version == JournalEntry.version else { return .anotherVersion }
        return steps(of: document, at: place).map { .steps($0) } ?? .unreadable
    }

    private func steps(of document: JSONValue, at place: Coordinates) -> [JournalStep]? {
        guard let ranges = document.member("ranges"), ranges.isArray,
            let clock = document.member("clock")?.integer, let rules = Self.text(document.member("rules")),
            let group = Self.text(document.member("group")), let dispatch = Self.text(document.member("dispatch")),
            let marks = document.member("watermarks").flatMap({ watermarks($0) })
        else { return nil }
        let cluster = Self.text(document.member("cluster"))
        let table = document.member("table").flatMap(Self.offsets)
        var steps: [JournalStep] = []
        var elements = ranges.elements
        while let range = elements.next() {
            guard let number = range.member("partition")?.integer.flatMap(Int32.init(exactly:)),
                let from = range.member("from")?.integer, let to = range.member("to")?.integer, from >= 0, from <= to,
                let name = range.member("topic")?.string
            else { return nil }
            guard let source = sources.source(of: name.bytes) else { continue }
            let partition = SourcePartition(source, number)
            var first: RecordFingerprint?
            if let member = range.member("first") {
                guard let found = Self.fingerprint(member), (from..<to).contains(found.offset) else { return nil }
                first = found
            }
            guard let mark = marks[partition] else { return nil }
            steps.append(
                JournalStep(
                    partition: partition, from: from, to: to, watermarkBefore: mark.before, watermarkAfter: mark.after,
                    until: mark.until, clock: clock, table: table, rules: rules, group: group, cluster: cluster,
                    dispatch: dispatch, first: first, isIncomplete: range.member("incomplete")?.boolean ?? false,
                    place: place))
        }
        return steps
    }

    private struct Watermarks {
        var before: TimerWatermark
        var after: TimerWatermark
        var until: Int64?
    }

    private func watermarks(_ list: JSONValue) -> [SourcePartition: Watermarks]? {
        guard list.isArray else { return nil }
        var found: [SourcePartition: Watermarks] = [:]
        var elements = list.elements
        while let element = elements.next() {
            guard let number = element.member("partition")?.integer.flatMap(Int32.init(exactly:)),
                let before = Self.watermark(element.member("before"), element.member("before_p")),
                let after = Self.watermark(element.member("after"), element.member("after_p")),
                let name = element.member("topic")?.string
            else { return nil }
            guard let source = sources.source(of: name.bytes) else { continue }
            let until = element.member("until")?.integer
            guard until != nil || after <= before else { return nil }
            found[SourcePartition(source, number)] = Watermarks(before: before, after: after, until: until)
        }
        return found
    }

    private static func watermark(_ time: JSONValue?, _ split: JSONValue?) -> TimerWatermark? {
        guard let time = time?.integer else { return nil }
        guard let split else { return TimerWatermark(time) }
        return text(split).flatMap { StoredHash($0) }.map { TimerWatermark(time, split: $0.number) }
    }

    private static func fingerprint(_ value: JSONValue) -> RecordFingerprint? {
        guard let offset = value.member("offset")?.integer, let timestamp = value.member("timestamp"),
            let key = value.member("key"), timestamp.isNull || timestamp.integer != nil
        else { return nil }
        let hash = text(key).flatMap { StoredHash($0) }
        guard key.isNull || hash != nil else { return nil }
        return RecordFingerprint(offset: offset, timestamp: timestamp.integer, key: hash)
    }

    private static func text(_ value: JSONValue?) -> String? {
        value?.string.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    private static func offsets(_ list: JSONValue) -> [Int64]? {
        guard list.isArray else { return nil }
        var offsets: [Int64] = []
        var elements = list.elements
        while let offset = elements.next()?.integer { offsets.append(offset) }
        return offsets
    }
}
