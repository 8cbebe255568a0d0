import Digests

/// What differs between records that are the same push, by field. Memory is bounded.
package struct FieldDifferences: Encodable {
    package struct Field: Encodable {
        package var name: String
        /// The number of records with it, and of the events that they come from.
        package var records = 0
        package var events = 0
        /// How often one value became another; the first thousand pairs only.
        package var changes: [Change: Int] = [:]
        fileprivate var lastEvent: [UInt8] = []

        /// Most frequent first.
        package var sortedChanges: [(change: Change, records: Int)] {
            changes.sorted { ($1.value, $0.key.text) < ($0.value, $1.key.text) }.map { ($0.key, $0.value) }
        }

        private enum CodingKeys: CodingKey { case name, events, records, changes }
        private enum ChangeKeys: CodingKey { case then, now, records }

        package func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(name, forKey: .name)
            try members.encode(events, forKey: .events)
            try members.encode(records, forKey: .records)
            var list = members.nestedUnkeyedContainer(forKey: .changes)
            for (change, records) in sortedChanges.prefix(20) {
                var members = list.nestedContainer(keyedBy: ChangeKeys.self)
                try members.encodeIfPresent(change.then, forKey: .then)
                try members.encodeIfPresent(change.now, forKey: .now)
                try members.encode(records, forKey: .records)
            }
        }
    }

    package struct Change: Hashable {
        package var then: String?
        package var now: String?

        package var text: String { "\(then ?? "nothing") → \(now ?? "nothing")" }
    }

    private static let mostChanges = 1_000
    private static let mostFields = 200
    private var byName: [String: Field] = [:]

    /// By the number of events, most first.
    package var fields: [Field] {
        byName.values.sorted { ($1.events, $1.records, $0.name) < ($0.events, $0.records, $1.name) }
    }

    package func encode(to encoder: any Encoder) throws {
        var list = encoder.singleValueContainer()
        try list.encode(fields)
    }

    /// - Parameter event: the position of the event; the records of one event come together.
    mutating func note(_ then: RenderedRecord, _ now: RenderedRecord, of event: [UInt8]) {
        var isTold = false
        for (name, values) in Self.compare(then, now) {
            isTold = true
            note(name, values, of: event)
        }
        if !isTold { note("bytes, with equal fields", Change(then: nil, now: nil), of: event) }
    }

    private mutating func note(_ name: String, _ change: Change, of event: [UInt8]) {
        guard byName[name] != nil || byName.count < Self.mostFields else { return }
        var field = byName.removeValue(forKey: name) ?? Field(name: name)
        field.records += 1
        if field.lastEvent != event {
            field.lastEvent = event
            field.events += 1
        }
        if field.changes[change] != nil || field.changes.count < Self.mostChanges {
            field.changes[change, default: 0] += 1
        }
        byName[name] = field
    }

    /// The fields that differ: the payload's, the message's, the headers, and the sources of fields if both are known.
    /// A value that is no JSON object, and a device's token wherever it occurs, are reported by size and hash.
    static func compare(_ then: RenderedRecord, _ now: RenderedRecord) -> [(name: String, change: Change)] {
        var found: [(name: String, change: Change)] = []
        let (left, right) = (PushPayload(value: then.value), PushPayload(value: now.value))
        let tokens = Set((left?.tokens ?? []) + (right?.tokens ?? []))
        func told(_ text: String) -> String { tokens.contains(text) ? digest(Array(text.utf8)) : text }
        func compare(_ name: String, _ left: String?, _ right: String?) {
            if left != right { found.append((name, Change(then: left.map(told), now: right.map(told)))) }
        }
        if then.value != now.value {
            if let left, let right {
                let names = left.members.map(\.name) + right.members.map(\.name).filter { left[$0] == nil }
                for name in names { compare(name, left[name], right[name]) }
            } else {
                compare("value", digest(then.value), digest(now.value))
            }
        }
        let names = then.headers.map(\.name) + now.headers.map(\.name).filter { then.header($0) == nil }
        for name in names { compare("header \(name)", then.header(name), now.header(name)) }
        if !then.sources.isEmpty, !now.sources.isEmpty {
            for name in then.sources.keys.sorted() {
                compare("source of \(name)", then.sources[name], now.sources[name])
            }
        }
        return found
    }

    private static func digest(_ bytes: [UInt8]) -> String {
        "\(bytes.count) bytes, sha256 \(bytes.withUnsafeBytes { StoredHash(of: $0).text })"
    }
}
