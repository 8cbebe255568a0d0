import Digests
import JSONReader
import NotificationPayload
import Notifications

/// A request in the body of a PUT or POST, and the value of its record.
struct RequestBody {
    let id: String
    /// Whether the client gave no id.
    let isNew: Bool
    /// As the record has it: the body, with its `request_id`.
    let value: [UInt8]
    /// What two requests with one id have to have in common.
    let content: StoredHash

    private static let idName: StaticString = "request_id"
    static let allowedID = "1 to 255 bytes without blanks at the ends and control characters"

    /// - Parameters:
    ///   - name: what the path or the header says; nil: neither does.
    ///   - newID: the id where nobody gives one.
    ///   - faults: gets what is wrong, beside what the rules refuse.
    /// - Throws: what cannot be read as a request.
    init(
        _ bytes: [UInt8], name: String?, newID: () -> String, _ reader: inout JSONReader,
        _ faults: inout [Problem.Fault]
    ) throws(Problem) {
        var index = 0
        let (own, content, hasID) = try JSONBody.read(bytes, &reader, &faults) { value throws(Problem) in
            guard value.isObject else { throw Problem(.badRequest, "the body is no object; allowed is one request") }
            guard !Self.isEnvelope(value) else {
                throw Problem(DeadLetter.badRequest("audience", nil, .audience), at: "/audience")
            }
            return (Self.id(of: value), Self.content(of: value), value.member(Self.idName) != nil)
        }
        // By bytes, as everything behind compares them.
        if let name, let own, !name.utf8.elementsEqual(own.utf8) {
            faults.append(
                Problem.Fault(
                    pointer: "/request_id", .badRequest,
                    detail: "request_id is another one than the id that the request is sent by"))
        }
        isNew = own == nil && name == nil
        id = own ?? name ?? newID()
        if !Self.isID(id) {
            faults.append(
                Problem.Fault(
                    pointer: own == nil ? "" : "/request_id", .badRequest,
                    detail: "the id of the request is not allowed; allowed are \(Self.allowedID)"))
        }
        self.content = content
        guard !hasID else {
            // The rules refuse any other value; these are absent for them.
            if own == nil {
                faults.append(
                    Problem.Fault(
                        pointer: "/request_id", .badRequest,
                        detail: "request_id is null or blank; allowed is a string or a number, or none at all"))
            }
            value = bytes
            return
        }
        while bytes[index] != UInt8(ascii: "{") { index += 1 }
        var json = ByteWriter(capacity: bytes.count + id.utf8.count + 32)
        json.append("{\"request_id\":\"")
        json.appendEscaped(id)
        json.append("\"")
        let rest = bytes[(index + 1)...]
        if rest.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) != UInt8(ascii: "}") { json.append(",") }
        rest.withUnsafeBytes { json.append($0) }
        value = Array(json.bytes)
    }

    /// Whether the rules would look for the request inside.
    private static func isEnvelope(_ object: JSONValue) -> Bool {
        object.member("audience") == nil && object.member("app") == nil && object.member("message") == nil
            && (object.member("specversion") != nil || object.member("schema") != nil)
    }

    /// A text or a number, trimmed; nil where it is absent, blank or something else.
    static func id(of request: JSONValue) -> String? {
        var arena = TextArena()
        return arena.text(request.member(idName)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Empty where the rules would refuse them.
    static func audiences(of request: JSONValue) -> [String] {
        guard let value = request.member("audience") else { return [] }
        if let name = value.string { return [String(decoding: name.bytes, as: UTF8.self)] }
        var names: [String] = []
        var elements = value.elements
        while let element = elements.next() {
            guard let name = element.string else { return [] }
            names.append(String(decoding: name.bytes, as: UTF8.self))
        }
        return names
    }

    static func content(of request: JSONValue) -> StoredHash {
        CanonicalJSON.hash(request, without: [idName])
    }

    static func isID(_ text: String) -> Bool {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x1F && $0 != 0x7F }) else {
            return false
        }
        var text = text
        return text.withUTF8 { UnsafeRawBufferPointer($0).trimmed.count == $0.count }
    }
}
