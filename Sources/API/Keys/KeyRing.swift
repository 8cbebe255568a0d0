import Digests
import JSONReader
import Time

/// The keys of the file: a JSON list of objects.
package struct KeyRing: Sendable {
    package static let mostKeys = 10_000

    package let entries: [KeyEntry]
    private let indices: [String: Int]

    package init(json: [UInt8]) throws(InvalidForm) {
        let entries = try Form.read(json) { value, file -> [KeyEntry]? in
            guard value.isArray else {
                file.problem("is no list of keys")
                return nil
            }
            var entries: [KeyEntry?] = []
            var ids: Set<String> = []
            var elements = value.elements
            while let element = elements.next(), entries.count <= Self.mostKeys {
                let entry = file.object(element, as: "key \(entries.count + 1)") { KeyEntry(&$0) }
                if let entry, !ids.insert(entry.id).inserted { file.problem("has the key '\(entry.id)' twice") }
                entries.append(entry)
            }
            if entries.count > Self.mostKeys { file.problem("has too many keys; allowed are \(Self.mostKeys)") }
            return entries.compactMap(\.self)
        }
        self.init(entries)
    }

    /// - Parameter entries: of different ids.
    package init(_ entries: [KeyEntry]) {
        self.entries = entries
        indices = Dictionary(entries.enumerated().map { ($1.id, $0) }) { first, _ in first }
    }

    /// The file's text, a line for each key.
    package var json: String {
        "[" + entries.map { "\n" + $0.document.json }.joined(separator: ",") + "\n]\n"
    }

    /// Finds the key of a request.
    ///
    /// Takes as long for a wrong secret as for the right one, and for an unknown id as for a known one.
    ///
    /// - Parameter authorization: the header's value.
    func entry(
        _ authorization: String?, _ environment: APIKey.Environment, at now: WallTime
    ) throws(KeyRefusal) -> KeyEntry {
        guard let text = BearerCredential.text(authorization) else { throw .noCredential }
        let key = try APIKey(text)
        guard key.environment == environment else { throw .otherEnvironment }
        let index = indices[key.id]
        let isSame = SameSecret.check(key.hash, index.map { entries[$0].hash } ?? Self.noHash)
        guard let index else { throw .unknownID }
        guard isSame else { throw .wrongSecret }
        if let expires = entries[index].expires, expires <= now { throw .expired }
        return entries[index]
    }

    private static let noHash = String(repeating: "0", count: 64)
}
