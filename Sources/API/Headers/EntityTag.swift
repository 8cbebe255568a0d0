/// The version of a resource: of a broadcast the place of its record, `"0-4711"`.
enum EntityTag {
    /// What `If-Match` asks for, RFC 9110 section 13.1.1.
    enum Condition: Equatable {
        /// Whatever is there, as long as something is.
        case any
        case one(of: [String])
    }

    static let allowed = "* or tags in quotes such as \"0-4711\" with commas between"

    /// - Parameter tag: with its quotes.
    static func isMet(_ condition: Condition, by tag: String) -> Bool {
        switch condition {
        case .any: true
        case .one(let tags): tags.contains(tag)
        }
    }

    /// - Returns: nil if it is none. A weak tag never matches.
    static func condition(_ header: String) -> Condition? {
        let parts = header.split(separator: ",").map { $0.trimmingPrefix { $0 == " " || $0 == "\t" } }
            .map { $0.reversed().drop { $0 == " " || $0 == "\t" }.reversed() }.map { String($0) }
        if parts == ["*"] { return .any }
        let isTags = parts.allSatisfy { $0.wholeMatch(of: /(?:W\/)?"[!\x23-\x7E]*"/) != nil }
        guard !parts.isEmpty, isTags else { return nil }
        return .one(of: parts.filter { !$0.hasPrefix("W/") })
    }
}
