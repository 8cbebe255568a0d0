import Digests
import JSONReader
import NotificationPayload

/// A value of `notifications.deliveries` that is not one.
package struct DeliveryRecordError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
}

extension DeliveryRecord {
    /// Appends the value: members in this order, without those that are unknown.
    package func append(to text: inout ByteWriter) {
        text.append(#"{"outcome":""#)
        text.append(outcome.rawValue)
        text.append(#"","topic":""#)
        text.appendEscaped(topic)
        text.append(#"","partition":"#)
        text.append(decimal: Int64(partition))
        text.append(#","offset":"#)
        text.append(decimal: offset)
        text.append(#","message_id":""#)
        text.appendEscaped(messageID)
        text.append(#"","device":""#)
        text.appendEscaped(device)
        text.append(#"","platform":""#)
        text.append(platform.rawValue)
        text.append(UInt8(ascii: "\""))
        Self.append(#","app":"#, app, to: &text)
        Self.append(#","environment":"#, environment?.rawValue, to: &text)
        Self.append(#","status":"#, status.map(Int64.init), to: &text)
        Self.append(#","reason":"#, reason, to: &text)
        Self.append(#","provider_id":"#, providerID, to: &text)
        Self.append(#","evidence":"#, evidence?.milliseconds, to: &text)
        Self.append(#","credential":"#, credential, to: &text)
        text.append(#","attempts":"#)
        text.append(decimal: Int64(attempts))
        Self.append(#","first_sent_at":"#, firstSentAt?.milliseconds, to: &text)
        Self.append(#","last_sent_at":"#, lastSentAt?.milliseconds, to: &text)
        text.append(UInt8(ascii: "}"))
    }

    private static func append(_ name: StaticString, _ value: String?, to text: inout ByteWriter) {
        guard let value else { return }
        text.append(name)
        text.append(UInt8(ascii: "\""))
        text.appendEscaped(value)
        text.append(UInt8(ascii: "\""))
    }

    private static func append(_ name: StaticString, _ value: Int64?, to text: inout ByteWriter) {
        guard let value else { return }
        text.append(name)
        text.append(decimal: value)
    }

    /// Reads a value. Members of later versions are ignored; if a member occurs twice, the last one counts.
    ///
    /// - Throws: what is wrong with the first member that is, with what is allowed.
    package init(_ value: JSONValue) throws(DeliveryRecordError) {
        guard value.isObject else { throw DeliveryRecordError(description: "the value is not a JSON object") }
        let reader = MemberReader(object: value)
        try self.init(
            reader.choice("outcome"), topic: reader.string("topic"),
            partition: Int32(reader.number("partition", 0...Int64(Int32.max))),
            offset: reader.number("offset", 0...Int64.max), messageID: reader.string("message_id"),
            device: reader.string("device"), platform: reader.choice("platform"),
            attempts: Int(reader.number("attempts", 0...Int64(Int32.max))))
        guard Array(device.utf8).withUnsafeBytes({ Hex.isHash($0) }) else {
            throw DeliveryRecordError(description: "device is not 64 hex digits")
        }
        app = try reader.optional("app", reader.string)
        environment = try reader.optional("environment") { name throws(DeliveryRecordError) in try reader.choice(name) }
        status = try reader.optional("status") { name throws(DeliveryRecordError) in
            Int(try reader.number(name, 100...999))
        }
        reason = try reader.optional("reason", reader.string)
        providerID = try reader.optional("provider_id", reader.string)
        evidence = try reader.optional("evidence", reader.time)
        credential = try reader.optional("credential", reader.string)
        firstSentAt = try reader.optional("first_sent_at", reader.time)
        lastSentAt = try reader.optional("last_sent_at", reader.time)
    }
}

/// Reads the members of one object.
private struct MemberReader {
    let object: JSONValue

    /// Nil for a member that is absent or null.
    func optional<Value>(
        _ name: StaticString, _ read: (StaticString) throws(DeliveryRecordError) -> Value
    ) throws(DeliveryRecordError) -> Value? {
        guard let member = object.member(name), !member.isNull else { return nil }
        return try read(name)
    }

    func string(_ name: StaticString) throws(DeliveryRecordError) -> String {
        guard let text = object.member(name)?.string else { throw problem(name, "a string") }
        return String(text)
    }

    func number(_ name: StaticString, _ range: ClosedRange<Int64>) throws(DeliveryRecordError) -> Int64 {
        guard let number = object.member(name)?.integer, range.contains(number) else {
            throw problem(name, "an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func time(_ name: StaticString) throws(DeliveryRecordError) -> WallTime {
        WallTime(milliseconds: try number(name, 0...Int64.max))
    }

    func choice<Value: CaseIterable & RawRepresentable<String>>(
        _ name: StaticString
    ) throws(DeliveryRecordError) -> Value {
        let text = try string(name)
        guard let value = Value(rawValue: text) else {
            throw problem(name, Value.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return value
    }

    private func problem(_ name: StaticString, _ allowed: String) -> DeliveryRecordError {
        let found = object.member(name) == nil ? "is missing" : "has another value"
        return DeliveryRecordError(description: "\(name) \(found); allowed is \(allowed)")
    }
}
