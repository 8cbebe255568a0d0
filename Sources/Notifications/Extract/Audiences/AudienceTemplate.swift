import Foundation
import JSONReader

/// Whom events notify: a kind of audience, and the member of the order that is its id, such as `user/{customer.id}`
/// (docs/rules.md §5.4).
public struct AudienceTemplate: Equatable, Sendable {
    /// As it is written.
    public let text: String
    let kind: Audience
    /// Nil: the order's place, by its chain of sources (docs/rules.md §5.3 row 2).
    let path: MemberPath?

    /// The place's: the only one by default.
    public static let place = AudienceTemplate(text: "place/{place_id}", kind: .place, path: nil)

    /// The longest one, in bytes.
    private static let maxCount = 200
    static let allowed = "place/, user/, channel/ or device/ and the path of one member in braces"

    private init(text: String, kind: Audience, path: MemberPath?) {
        self.text = text
        self.kind = kind
        self.path = path
    }

    /// - Throws: what is wrong with it.
    public init(_ text: String) throws(InvalidForm) {
        let kind = Audience.allCases.first { text.hasPrefix($0.prefix.description) }
        guard let kind, text.utf8.count <= Self.maxCount else {
            throw InvalidForm(problems: [
                "'\(text)' is none: it must be \(Self.allowed), in at most \(Self.maxCount) bytes"
            ])
        }
        let name = text.dropFirst(kind.prefix.description.count)
        guard name.hasPrefix("{"), name.hasSuffix("}"), name.count > 2 else {
            throw InvalidForm(problems: ["'\(text)' has no member in braces after \(kind.prefix), such as {place_id}"])
        }
        let path = name.dropFirst().dropLast()
        self.text = text
        self.kind = kind
        self.path = path == "place_id" ? nil : try MemberPath(String(path), of: text)
    }

    /// Templates with commas between.
    ///
    /// - Throws: everything that is wrong with any of them.
    public static func list(_ text: String) throws(InvalidForm) -> [AudienceTemplate] {
        var templates: [AudienceTemplate] = []
        var problems: [String] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            do throws(InvalidForm) {
                let template = try AudienceTemplate(part.trimmingCharacters(in: CharacterSet(charactersIn: " ")))
                if templates.contains(template) { problems.append("'\(template.text)' is there twice") }
                templates.append(template)
            } catch {
                problems += error.problems
            }
        }
        guard problems.isEmpty else { throw InvalidForm(problems: problems) }
        return templates
    }
}
