import JSONReader

/// The members that envelopes have.
enum EnvelopeMember {
    /// CloudEvents in structured mode.
    case specVersion, id, source, type, time, data, dataBase64
    /// Kafka Connect's `{schema,payload}`.
    case schema, payload
}

/// The members of an object that is an event's body, or an envelope around it: found in one walk for both.
protocol EnvelopeBody {
    init(_ object: JSONValue?)

    subscript(member: EnvelopeMember) -> JSONValue? { get }

    /// It is the event itself, even where it also has members of an envelope.
    var isEvent: Bool { get }
}

extension EnvelopeBody {
    /// The envelope of CloudEvents in structured mode is known by these where no content type says so.
    var isCloudEvent: Bool {
        self[EnvelopeMember.specVersion] != nil
            && (self[EnvelopeMember.data] != nil || self[EnvelopeMember.dataBase64] != nil)
    }
}
