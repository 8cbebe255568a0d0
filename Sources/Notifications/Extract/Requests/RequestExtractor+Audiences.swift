import JSONReader

extension RequestExtractor {
    /// The most audiences of one request (docs/rules.md §8.1).
    private static var maxAudiences: Int { 1_000 }

    /// One audience, or a list of them; repeated ones count once.
    mutating func readAudiences(of members: RequestMembers) throws(RequestFinding) {
        audiences.removeAll()
        guard let value = members.present(.audience), value.isArray else {
            return try readAudience(members.present(.audience) ?? members[.audience], nil)
        }
        let count = value.elementCount
        guard count > 0, count <= Self.maxAudiences else {
            return try findings.refuse(RequestFinding(.audienceCount(count), at: RequestMembers.pointer(.audience)))
        }
        var elements = value.elements
        var index = 0
        while let element = elements.next() {
            try readAudience(element, index)
            index += 1
        }
    }

    /// - Parameter index: in a list; nil: the only one.
    private mutating func readAudience(_ value: JSONValue?, _ index: Int?) throws(RequestFinding) {
        /// - Parameter letter: gets the place as a sentence names it.
        func refuse(_ letter: (String) -> DeadLetter) throws(RequestFinding) {
            let place = index.map { (sentence: "[\($0)]", pointer: "/\($0)") } ?? (sentence: "", pointer: "")
            try findings.refuse(
                RequestFinding(
                    letter("audience" + place.sentence), at: RequestMembers.pointer(.audience) + place.pointer))
        }
        guard let name = value?.string?.bytes, Audience(of: name) != nil else {
            return try refuse { .badRequest($0, value, .audience) }
        }
        guard permits(name) else {
            return try refuse { .audienceNotPermitted($0, name, permitted: rules.audiences) }
        }
        _ = audiences.insert(name)
    }

    /// Whether `requests.audiences` has it.
    private func permits(_ name: UnsafeRawBufferPointer) -> Bool {
        rules.audiences.isEmpty
            || rules.audiences.contains { pattern in
                pattern.hasSuffix("*")
                    ? name.starts(with: pattern.utf8.dropLast()) : name.elementsEqual(pattern.utf8)
            }
    }
}
