import Digests
import JSONReader
import NotificationPayload

extension BroadcastJournalEntry {
    /// Appends the entry as JSON, members in a fixed order.
    package func append(to text: inout ByteWriter) {
        text.append("{")
        text.append("v", Self.version)
        text.append("group", group)
        if let cluster { text.append("cluster", cluster) } else { text.append(#","cluster":null"#) }
        text.append("dispatch", dispatch)
        text.append("ranges", ranges) { range, text in
            text.append("topic", range.topic)
            text.append("partition", Int64(range.partition))
            text.append("from", range.from)
            text.append("to", range.to)
        }
        text.append("broadcasts", broadcasts)
        text.append("clock", clock)
        text.append("passes", passes) { slice, text in
            Self.append(slice.subject, to: &text)
            text.append("s", slice.joinedBelow)
            if let key = slice.keyBefore { text.append("k_before", Self.text(key)) }
            if let key = slice.keyAfter { text.append("k_after", Self.text(key)) }
            if let devices = slice.devices { text.append("devices", Int64(devices)) }
            text.append("sent", Int64(slice.sent))
            text.append("stale", Int64(slice.stale))
            if let end = slice.end { text.append("end", end.rawValue) }
        }
        text.append("late", late) { late, text in
            Self.append(late.subject, to: &text)
            text.append("sent", Int64(late.sent))
        }
        text.append("skipped", skipped) { skipped, text in
            text.append("partition", Int64(skipped.partition))
            text.append("broadcast", skipped.broadcast)
            if let id = skipped.notificationID { text.append("id", id) }
            text.append("reason", skipped.reason.rawValue)
        }
        text.append("rules", rules)
        text.append("}")
    }

    private static func append(_ subject: Subject, to text: inout ByteWriter) {
        text.append("partition", Int64(subject.partition))
        text.append("broadcast", subject.broadcast)
        if let id = subject.notificationID { text.append("id", id) }
        if let id = subject.messageID { text.append("message_id", id) }
    }

    private static func text(_ hash: [UInt8]) -> String {
        String(decoding: Base64URL.encode(hash), as: UTF8.self)
    }

    /// Whether another version wrote the entry.
    package static func isForeign(_ document: JSONValue) -> Bool {
        document.isObject && document.member("v")?.integer.map { $0 != version } ?? false
    }

    /// Nil if it is not an entry of this version's journal.
    package init?(_ document: JSONValue) {
        guard document.isObject, document.member("v")?.integer == Self.version,
            let group = document.text("group"), let dispatch = document.text("dispatch"),
            let broadcasts = document.member("broadcasts")?.integer, let clock = document.member("clock")?.integer,
            let rules = document.text("rules"),
            let ranges = document.list("ranges", { Range($0) }), let passes = document.list("passes", { Slice($0) }),
            let late = document.list("late", { Late($0) }), let skipped = document.list("skipped", { Skipped($0) })
        else { return nil }
        self.init(group: group, cluster: document.text("cluster"), dispatch: dispatch, rules: rules)
        self.ranges = ranges
        self.broadcasts = broadcasts
        self.clock = clock
        self.passes = passes
        self.late = late
        self.skipped = skipped
    }
}

extension BroadcastJournalEntry.Range {
    fileprivate init?(_ value: JSONValue) {
        guard let topic = value.text("topic"), let partition = value.partition,
            let from = value.member("from")?.integer, let to = value.member("to")?.integer
        else { return nil }
        self.init(topic: topic, partition: partition, from: from, to: to)
    }
}

extension BroadcastJournalEntry.Subject {
    fileprivate init?(_ value: JSONValue) {
        guard let partition = value.partition, let broadcast = value.member("broadcast")?.integer else { return nil }
        self.init(
            partition: partition, broadcast: broadcast, notificationID: value.text("id"),
            messageID: value.text("message_id"))
    }
}

extension BroadcastJournalEntry.Slice {
    fileprivate init?(_ value: JSONValue) {
        guard let subject = BroadcastJournalEntry.Subject(value), let joinedBelow = value.member("s")?.integer,
            let sent = value.member("sent")?.integer, let stale = value.member("stale")?.integer
        else { return nil }
        self.init(subject: subject, joinedBelow: joinedBelow, sent: Int(sent), stale: Int(stale))
        devices = value.member("devices")?.integer.map { Int($0) }
        keyBefore = value.text("k_before").flatMap { Base64URL.decode($0.utf8) }
        keyAfter = value.text("k_after").flatMap { Base64URL.decode($0.utf8) }
        if let text = value.text("end") {
            guard let end = End(rawValue: text) else { return nil }
            self.end = end
        }
    }
}

extension BroadcastJournalEntry.Late {
    fileprivate init?(_ value: JSONValue) {
        guard let subject = BroadcastJournalEntry.Subject(value), let sent = value.member("sent")?.integer
        else { return nil }
        self.init(subject: subject, sent: Int(sent))
    }
}

extension BroadcastJournalEntry.Skipped {
    fileprivate init?(_ value: JSONValue) {
        guard let partition = value.partition, let broadcast = value.member("broadcast")?.integer,
            let reason = value.text("reason").flatMap(Reason.init(rawValue:))
        else { return nil }
        self.init(partition: partition, broadcast: broadcast, notificationID: value.text("id"), reason: reason)
    }
}

extension JSONValue {
    fileprivate func text(_ name: StaticString) -> String? {
        member(name)?.string.map { String($0) }
    }

    fileprivate var partition: Int32? { member("partition")?.integer.flatMap(Int32.init(exactly:)) }

    /// Nil where the member is no list, or one of its elements cannot be read.
    fileprivate func list<Element>(_ name: StaticString, _ read: (JSONValue) -> Element?) -> [Element]? {
        guard let list = member(name), list.isArray else { return nil }
        var found: [Element] = []
        var elements = list.elements
        while let element = elements.next() {
            guard let element = read(element) else { return nil }
            found.append(element)
        }
        return found
    }
}

extension ByteWriter {
    /// The name of a member, after a comma unless it is the first one.
    private mutating func begin(_ name: StaticString) {
        append(bytes.last == UInt8(ascii: "{") ? "\"" : ",\"")
        append(name)
        append("\":")
    }

    fileprivate mutating func append(_ name: StaticString, _ number: Int64) {
        begin(name)
        append(decimal: number)
    }

    fileprivate mutating func append(_ name: StaticString, _ string: String) {
        begin(name)
        append("\"")
        appendEscaped(string)
        append("\"")
    }

    fileprivate mutating func append<Element>(
        _ name: StaticString, _ list: [Element], _ write: (Element, inout ByteWriter) -> Void
    ) {
        begin(name)
        append("[")
        for (index, element) in list.enumerated() {
            append(index == 0 ? "{" : ",{")
            write(element, &self)
            append("}")
        }
        append("]")
    }
}
