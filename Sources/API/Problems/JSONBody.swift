import Glibc
import JSONReader
import NotificationPayload
import Notifications

/// The body of a request as JSON, where a member that is there twice is a mistake: in a topic the last one counts, and a
/// developer should hear of it.
enum JSONBody {
    /// - Parameters:
    ///   - faults: gets the members that are there twice.
    ///   - body: gets the document, which is valid as long as it runs.
    /// - Throws: what cannot be read.
    static func read<Content>(
        _ bytes: [UInt8], _ reader: inout JSONReader, _ faults: inout [Problem.Fault],
        _ body: (JSONValue) throws(Problem) -> Content
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
                var names: [JSONText] = []
                findRepeated(value, &names, &faults)
                return try body(value)
            }
        }
        return try result.get()
    }

    /// Whether an object in the value has a member twice. Nested at most as deep as the reader allows.
    ///
    /// - Parameter names: room for those of one object.
    static func hasRepeated(_ value: JSONValue, _ names: inout [JSONText]) -> Bool {
        guard value.isObject || value.isArray else { return false }
        sort(value, &names)
        if zip(names, names.dropFirst()).contains(where: { order($0, $1) == 0 }) { return true }
        var members = value.members
        while let member = members.next() { if hasRepeated(member.value, &names) { return true } }
        var elements = value.elements
        while let element = elements.next() { if hasRepeated(element, &names) { return true } }
        return false
    }

    /// The names of an object's members, so that equal ones are side by side.
    private static func sort(_ value: JSONValue, _ names: inout [JSONText]) {
        names.removeAll(keepingCapacity: true)
        var members = value.members
        while let member = members.next() { names.append(member.name) }
        names.sort { order($0, $1) < 0 }
    }

    /// Notes the members that are there twice. Nested at most as deep as the reader allows.
    ///
    /// - Parameters:
    ///   - names: room for those of one object.
    ///   - faults: their pointers begin at the value.
    private static func findRepeated(
        _ value: JSONValue, _ names: inout [JSONText], _ faults: inout [Problem.Fault]
    ) {
        guard value.isObject || value.isArray else { return }
        sort(value, &names)
        for index in names.indices.dropFirst() where order(names[index - 1], names[index]) == 0 {
            let isKnown = index > 1 && order(names[index - 2], names[index]) == 0
            if !isKnown, faults.count < Problem.mostFaults {
                faults.append(
                    Problem.Fault(
                        pointer: "/" + RequestFinding.escape(String(names[index])), .duplicateMember,
                        detail: "a member of the body is there twice; allowed is each once"))
            }
        }
        var members = value.members
        while let member = members.next() {
            let first = faults.count
            findRepeated(member.value, &names, &faults)
            guard first < faults.count else { continue }
            let parent = "/" + RequestFinding.escape(String(member.name))
            for found in first..<faults.count { faults[found].move(into: parent) }
        }
        var elements = value.elements
        var index = 0
        while let element = elements.next() {
            let first = faults.count
            findRepeated(element, &names, &faults)
            for found in first..<faults.count { faults[found].move(into: "/\(index)") }
            index += 1
        }
    }

    /// Below zero where the first is shorter, or is as long and comes before.
    private static func order(_ left: JSONText, _ right: JSONText) -> Int {
        guard left.count == right.count, let bytes = left.bytes.baseAddress, let others = right.bytes.baseAddress else {
            return left.count - right.count
        }
        return Int(memcmp(bytes, others, left.count))
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
