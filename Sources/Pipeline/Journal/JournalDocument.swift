import FoundationEssentials

/// A record of a journal: one JSON document, which its own type writes and reads.
package protocol JournalDocument: Codable {
    static var version: Int { get }
    var v: Int { get }
}

/// Why a record is no entry of this version's journal.
package enum JournalProblem: Error, Equatable {
    case anotherVersion
    case malformed(String)
}

extension JournalDocument {
    /// The members are sorted by their names.
    package func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(self))
    }

    package init(json: UnsafeRawBufferPointer?) throws(JournalProblem) {
        let data = json.map { Data($0) } ?? Data()
        do {
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch {
            if let header = try? JSONDecoder().decode(JournalHeader.self, from: data), header.v != Self.version {
                throw .anotherVersion
            }
            throw .malformed((error as? DecodingError)?.sentence ?? "\(error)")
        }
        guard v == Self.version else { throw .anotherVersion }
    }
}

/// The member that every version has.
private struct JournalHeader: Decodable {
    var v: Int
}

extension DecodingError {
    /// The member that is wrong, and how.
    fileprivate var sentence: String {
        switch self {
        case .keyNotFound(let key, let context): "\(Self.path(context.codingPath + [key])) is missing"
        case .valueNotFound(_, let context): "\(Self.path(context.codingPath)) is null"
        case .typeMismatch(_, let context): "\(Self.path(context.codingPath)) has another type"
        case .dataCorrupted(let context) where context.codingPath.isEmpty: "it is not JSON"
        case .dataCorrupted(let context): "\(Self.path(context.codingPath)) is wrong: \(context.debugDescription)"
        @unknown default: "\(self)"
        }
    }

    /// Such as `ranges.0.first`.
    private static func path(_ path: [any CodingKey]) -> String {
        path.isEmpty ? "the value" : path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }
}
