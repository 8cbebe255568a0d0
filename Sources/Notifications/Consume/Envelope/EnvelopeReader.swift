import Digests
import JSONReader

/// Removes every envelope around an event: Confluent's frame, CloudEvents in structured mode, `{schema,payload}`, and a
/// JSON string that holds JSON (docs/rules.md §4.1, §4.3).
///
/// One owner, any thread. Allocates only for a document that is larger than every earlier one.
struct EnvelopeReader: ~Copyable {
    /// More nested envelopes than any producer writes.
    private static let maxEnvelopes = 8

    private var reader = JSONReader()
    /// For JSON inside a JSON string, while the document around it is still in use.
    private var innerReader = JSONReader()
    /// For JSON inside a CloudEvents envelope that is itself in the document of ``innerReader``.
    private var innermostReader = JSONReader()

    /// The members of the body inside the envelopes of a record's value, valid until the next call.
    ///
    /// The attributes of a structured CloudEvents envelope replace those of the headers and stay valid until the next
    /// call. The envelope is recognised by its content type, or without one by its `specversion` and `data`.
    ///
    /// - Parameter members: finds the members of an object.
    mutating func body<Body: EnvelopeBody>(
        of value: UnsafeRawBufferPointer, attributes: inout RecordHeaders, texts: inout TextArena,
        members find: (JSONValue) -> Body
    ) throws(DeadLetter) -> Body {
        var body = try parse(value)
        var isStructured = attributes.isStructured
        // The attributes point into an envelope's document, so its reader parses nothing more.
        var isInnerBody = false
        var hasInnerAttributes = false
        // One turn for each envelope, and one for what is inside.
        for _ in 0...Self.maxEnvelopes {
            if let text = body.string {
                body = try parseInner(text.bytes, beside: hasInnerAttributes)
                isInnerBody = !hasInnerAttributes
                continue
            }
            guard body.isObject else { throw .notAnEvent("the body is not a JSON object") }
            let members = find(body)
            if isStructured || !members.isEvent && members.isCloudEvent {
                attributes.ceID = texts.text(members[.id])
                attributes.ceSource = texts.text(members[.source])
                attributes.ceType = texts.text(members[.type])
                attributes.ceTime = texts.text(members[.time])
                isStructured = false
                hasInnerAttributes = isInnerBody
                if let data = members[.data], !data.isNull {
                    body = data
                } else if let text = members[.dataBase64]?.string {
                    body = try parseBase64(text.bytes, beside: hasInnerAttributes)
                    isInnerBody = !hasInnerAttributes
                } else {
                    throw .notAnEvent("the CloudEvents envelope has no data")
                }
                continue
            }
            guard !members.isEvent, members[.schema] != nil, let payload = members[.payload] else { return members }
            body = payload
        }
        throw .notAnEvent("the body is wrapped in too many envelopes")
    }

    /// Parses a value without Confluent's frame.
    private mutating func parse(_ value: UnsafeRawBufferPointer) throws(DeadLetter) -> JSONValue {
        guard value.count <= EventLimits.maxValueSize else { throw .valueTooLarge(value.count) }
        // JSON never begins with a zero byte.
        let isFramed = value.count > 5 && value[0] == 0
        let document = isFramed ? UnsafeRawBufferPointer(rebasing: value[5...]) : value
        do throws(JSONError) {
            return try reader.parse(document)
        } catch {
            throw .unreadable(error)
        }
    }

    private mutating func parseBase64(_ text: UnsafeRawBufferPointer, beside: Bool) throws(DeadLetter) -> JSONValue {
        guard let data = Base64.decode(text) else {
            throw .notAnEvent("data_base64 of the CloudEvents envelope is not base64")
        }
        let parsed = data.withUnsafeBytes { bytes in
            Result { () throws(DeadLetter) in try parseInner(bytes, beside: beside) }
        }
        return try parsed.get()
    }

    /// Parses a copy of the text in an envelope: `beside` the inner document if that one has the attributes, else in
    /// its place.
    private mutating func parseInner(
        _ bytes: UnsafeRawBufferPointer, beside: Bool
    ) throws(DeadLetter) -> JSONValue {
        do throws(JSONError) {
            return beside ? try innermostReader.parse(bytes) : try innerReader.parse(bytes)
        } catch {
            throw .unreadable(error)
        }
    }
}
