import JSONReader

/// The members of envelopes.
enum EnvelopeMember: String, CaseIterable {
    /// CloudEvents in structured mode.
    case specVersion = "specversion"
    case dataBase64 = "data_base64"
    case id, source, type, time, data
    /// Kafka Connect's `{schema,payload}`.
    case schema, payload
}

/// The members of an object that is an event's body or an envelope around it: found in one pass for both.
protocol EnvelopeBody {
    subscript(member: EnvelopeMember) -> JSONValue? { get }

    /// Whether it is the event itself, even if it also has members of an envelope.
    var isEvent: Bool { get }
}

extension EnvelopeBody {
    /// They identify a CloudEvents envelope in structured mode that has no content type.
    var isCloudEvent: Bool {
        self[EnvelopeMember.specVersion] != nil
            && (self[EnvelopeMember.data] != nil || self[EnvelopeMember.dataBase64] != nil)
    }
}
