import JSONReader

extension Extractor {
    /// Envelopes inside envelopes beyond this many are nobody's.
    private static let maxEnvelopes = 8

    /// Takes off every envelope around an event: Confluent's frame, CloudEvents in structured mode, `{schema,payload}`, and
    /// a JSON string that holds JSON (push-rules §4.1, §4.3).
    ///
    /// The attributes of a structured CloudEvents envelope replace those of the headers. The envelope is known by its
    /// content type, or where a producer sends none by its `specversion` and `data`. They stay valid until the next event.
    mutating func readBody(
        _ value: UnsafeRawBufferPointer, attributes: inout RecordHeaders
    ) throws(DeadLetter) -> EventMembers {
        guard value.count <= Self.maxValueSize else { throw .valueTooLarge(value.count) }
        // JSON never begins with a zero byte.
        let isFramed = value.count > 5 && value[0] == 0
        let document = isFramed ? UnsafeRawBufferPointer(rebasing: value[5...]) : value
        var body: JSONValue
        do throws(JSONError) {
            body = try reader.parse(document)
        } catch {
            throw .unreadable(error)
        }
        var isStructured = attributes.isStructured
        // The attributes are texts in an envelope's document; the reader that has it parses nothing more.
        var isInnerBody = false
        var hasInnerAttributes = false
        for _ in 0..<Self.maxEnvelopes {
            if let text = body.string {
                body = try parseInner(text.bytes, beside: hasInnerAttributes)
                isInnerBody = !hasInnerAttributes
                continue
            }
            guard body.isObject else { throw .notAnEvent("the body is not a JSON object") }
            let members = EventMembers(body)
            if isStructured || !members.isEvent && members.isCloudEvent {
                attributes.ceID = arena.text(members[.id])
                attributes.ceSource = arena.text(members[.source])
                attributes.ceType = arena.text(members[.type])
                attributes.ceTime = arena.text(members[.time])
                isStructured = false
                hasInnerAttributes = isInnerBody
                if let data = members[.data], !data.isNull {
                    body = data
                } else if let text = members[.dataBase64]?.string {
                    guard let data = Base64.decode(text.bytes) else {
                        throw .notAnEvent("data_base64 of the CloudEvents envelope is not base64")
                    }
                    let parsed = data.withUnsafeBytes { bytes in
                        Result { () throws(DeadLetter) in try parseInner(bytes, beside: hasInnerAttributes) }
                    }
                    body = try parsed.get()
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

    /// Parses a copy of what an envelope carries as text, `beside` the inner document that has the attributes or in its
    /// place.
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
