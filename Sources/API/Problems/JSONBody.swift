import JSONReader
import NotificationPayload

/// The body of a request as JSON, where a member that is there twice is a mistake: in a topic the last one counts, and a
/// developer should hear of it.
enum JSONBody {
    /// - Parameter body: gets the document, which is valid as long as it runs.
    static func read<Content>(
        _ bytes: [UInt8], _ reader: inout JSONReader, _ body: (JSONValue) throws(Problem) -> Content
    ) throws(Problem) -> Content {
        // The reader would skip it: producers of records write it.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            throw Problem(.notJSON, "the body begins with a byte order mark; allowed is JSON without one")
        }
        let result = bytes.withUnsafeBytes { bytes -> Result<Content, Problem> in
            Result { () throws(Problem) in
                let value: JSONValue
                do throws(JSONError) {
                    value = try reader.parse(bytes)
                } catch {
                    throw Problem(error)
                }
                try refuseRepeated(value, at: "")
                return try body(value)
            }
        }
        return try result.get()
    }

    /// Nested at most as deep as the reader allows.
    private static func refuseRepeated(_ value: JSONValue, at pointer: String) throws(Problem) {
        var elements = value.elements
        var index = 0
        while let element = elements.next() {
            if element.isObject || element.isArray { try refuseRepeated(element, at: "\(pointer)/\(index)") }
            index += 1
        }
        var members = value.members
        var names: Set<String> = []
        while let (name, value) = members.next() {
            let name = String(name)
            let memberPointer = pointer + Problem.escape(name)
            guard names.insert(name).inserted else {
                var problem = Problem(.duplicateMember, "a member of the body is there twice; allowed is each once")
                problem.faults = [.init(pointer: memberPointer, code: "duplicate-member", detail: problem.detail)]
                throw problem
            }
            if value.isObject || value.isArray { try refuseRepeated(value, at: memberPointer) }
        }
    }
}

extension Problem {
    fileprivate init(_ error: JSONError) {
        switch error {
        case .empty: self.init(.notJSON, "the body is empty; allowed is one JSON object")
        case .invalidUTF8: self.init(.badEncoding, "the body is not UTF-8")
        case .invalidNumber:
            self.init(.notJSON, "the body has a number that JSON does not allow, or that does not fit into 64 bits")
        case .tooDeep:
            self.init(.notJSON, "the body is nested too deeply; allowed are \(JSONReader.maxDepth - 1) levels")
        case .invalidString:
            self.init(
                .notJSON, "the body has a string with a control character, an unknown escape or half a surrogate pair")
        case .unclosed: self.init(.notJSON, "the body ends in the middle of a value")
        case .syntax: self.init(.notJSON, "the body is not one JSON document")
        case .tooLarge, .outOfMemory: self.init(.tooLarge, "the body is too large")
        }
    }
}
