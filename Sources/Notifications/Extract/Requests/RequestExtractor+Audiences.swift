import JSONReader

extension RequestExtractor {
    /// The most audiences of one request (docs/rules.md §8.1).
    private static var maxAudiences: Int { 1_000 }

    /// One audience, or a list of them; repeated ones count once.
    mutating func readAudiences(of members: RequestMembers) throws(DeadLetter) {
        audiences.removeAll()
        guard let value = members.present(.audience) else { throw members.wrong(.audience, .audience) }
        guard value.isArray else {
            guard let name = value.string?.bytes, Audience(of: name) != nil else {
                throw members.wrong(.audience, .audience)
            }
            guard permits(name) else { throw .audienceNotPermitted("audience", name, permitted: rules.audiences) }
            _ = audiences.insert(name)
            return
        }
        let count = Self.count(value)
        guard count > 0, count <= Self.maxAudiences else { throw .audienceCount(count) }
        var elements = value.elements
        var index = 0
        while let element = elements.next() {
            guard let name = element.string?.bytes, Audience(of: name) != nil else {
                throw .badRequest("audience[\(index)]", element, .audience)
            }
            guard permits(name) else {
                throw .audienceNotPermitted("audience[\(index)]", name, permitted: rules.audiences)
            }
            _ = audiences.insert(name)
            index += 1
        }
    }

    /// Whether `requests.audiences` has it.
    private func permits(_ name: UnsafeRawBufferPointer) -> Bool {
        rules.audiences.isEmpty
            || rules.audiences.contains { pattern in
                pattern.hasSuffix("*")
                    ? name.starts(with: pattern.utf8.dropLast()) : name.elementsEqual(pattern.utf8)
            }
    }

    private static func count(_ array: JSONValue) -> Int {
        var elements = array.elements
        var count = 0
        while elements.next() != nil {
            count += 1
        }
        return count
    }
}
