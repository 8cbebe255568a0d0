import JSONReader
import Notifications
import Registrar

/// The bodies of changes of a person.
enum PersonBody {
    /// A JSON Merge Patch (RFC 7396): what is absent is kept, and null removes.
    ///
    /// - Throws: everything that is wrong with it.
    static func patch(_ bytes: [UInt8], of person: ByteText) throws(Problem) -> PersonChange {
        try read(bytes) { value, faults throws(Problem) in
            guard value.isObject else {
                throw Problem(.badRequest, "the body is no object; allowed is one with members of a person")
            }
            var change = PersonChange(person)
            var members = value.members
            while let (name, value) = members.next() {
                let member = String(name)
                func text() -> Change<ByteText> {
                    if let text = value.string { return .set(ByteText(String(text))) }
                    if !value.isNull { fault(member, "\(member) is no text", &faults) }
                    return .remove
                }
                switch member {
                case "locale": change.locale = text()
                case "time_zone": change.timeZone = text()
                case "audiences":
                    change.audiences = value.isNull ? [] : value.texts
                    if change.audiences == nil { fault(member, "audiences is no list of texts", &faults) }
                default:
                    fault(
                        member, "there is no such member; allowed are locale, time_zone and audiences", &faults)
                }
            }
            return change
        }
    }

    /// A list: all audiences that the backend grants.
    ///
    /// - Throws: everything that is wrong with it.
    static func audiences(_ bytes: [UInt8], of person: ByteText) throws(Problem) -> PersonChange {
        try read(bytes) { value, _ throws(Problem) in
            guard let audiences = value.texts else {
                throw Problem(.badRequest, "the body is no list of texts; allowed is one of audiences")
            }
            var change = PersonChange(person)
            change.audiences = audiences
            return change
        }
    }

    private static func read(
        _ bytes: [UInt8], _ body: (JSONValue, inout [Problem.Fault]) throws(Problem) -> PersonChange
    ) throws(Problem) -> PersonChange {
        var reader = JSONReader()
        var (repeated, faults): ([Problem.Fault], [Problem.Fault]) = ([], [])
        let change = try JSONBody.read(bytes, &reader, &repeated) { value throws(Problem) in
            try body(value, &faults)
        }
        if let problem = Problem(repeated + faults) { throw problem }
        return change
    }

    private static func fault(_ member: String, _ detail: String, _ faults: inout [Problem.Fault]) {
        guard faults.count < Problem.mostFaults else { return }
        faults.append(Problem.Fault(pointer: "/" + RequestFinding.escape(member), .badRequest, detail: detail))
    }
}

extension JSONValue {
    /// Nil if it is no list of texts.
    var texts: [ByteText]? {
        guard isArray else { return nil }
        var texts: [ByteText] = []
        var elements = elements
        while let element = elements.next() {
            guard let text = element.string else { return nil }
            texts.append(ByteText(String(text)))
        }
        return texts
    }
}
