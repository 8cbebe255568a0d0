import JSONReader

/// The issuers of the file: a JSON list of objects.
package struct IssuerList: Sendable {
    package static let mostIssuers = 1_000

    package let issuers: [Issuer]
    private let indices: [Issuer.ID: Int]

    /// - Parameter read: reads the file of a secret, by its path as the list has it.
    package init(json: [UInt8], _ read: (String) throws(InvalidForm) -> [UInt8]) throws(InvalidForm) {
        let issuers = try Form.read(json) { value, file -> [Issuer]? in
            guard value.isArray else {
                file.problem("is no list of issuers")
                return nil
            }
            var issuers: [Issuer?] = []
            var ids: Set<Issuer.ID> = []
            var elements = value.elements
            while let element = elements.next(), issuers.count <= Self.mostIssuers {
                let issuer = file.object(element, as: "issuer \(issuers.count + 1)") { Issuer(&$0, read) }
                if let issuer, !ids.insert(issuer.id).inserted {
                    file.problem("has the \(issuer.id.description) twice")
                }
                issuers.append(issuer)
            }
            if issuers.count > Self.mostIssuers {
                file.problem("has too many issuers; allowed are \(Self.mostIssuers)")
            }
            return issuers.compactMap(\.self)
        }
        self.issuers = issuers
        indices = Dictionary(issuers.enumerated().map { ($1.id, $0) }) { first, _ in first }
    }

    package subscript(id: Issuer.ID) -> Issuer? { indices[id].map { issuers[$0] } }
}
