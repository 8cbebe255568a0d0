/// Why templates cannot be used: every problem at once.
public struct DeepLinksError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Each one's field is the type of order.
    public var problems: [FieldProblem]

    public init(problems: [FieldProblem]) {
        self.problems = problems
    }

    public var description: String {
        "deep links: " + problems.map(\.description).joined(separator: "; ")
    }
}

extension DeepLinks {
    /// What is wrong with a template; nil if it can be used.
    static func problem(orderType: String, template: String) -> FieldProblem? {
        guard orderTypes.contains(orderType) else {
            let known = orderTypes.joined(separator: " or ")
            return FieldProblem(field: "the type of order", found: orderType, allowed: known)
        }
        guard isUsable(template) else {
            let allowed = "an https URL with {order_id} once after its host, and no other placeholder"
            return FieldProblem(field: orderType, found: template, allowed: allowed)
        }
        return nil
    }

    private static func isUsable(_ template: String) -> Bool {
        let (scheme, placeholder) = ("https://", "{order_id}")
        guard template.hasPrefix(scheme) else { return false }
        let rest = template.dropFirst(scheme.count)
        let host = rest.prefix { !["/", "?", "#"].contains($0) }
        // Without user information: what precedes `@` only looks like a host.
        guard !host.isEmpty, host.utf8.allSatisfy(URLBytes.isHost) else { return false }
        let parts = rest.dropFirst(host.count).split(separator: "{", omittingEmptySubsequences: false)
        guard parts.count == 2, ("{" + parts[1]).hasPrefix(placeholder) else { return false }
        let fixed = parts[0] + parts[1].dropFirst(placeholder.count - 1)
        return fixed.utf8.allSatisfy(URLBytes.isAllowed)
    }
}

/// The characters of a URL (RFC 3986 §2).
enum URLBytes {
    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// A name or an address, with or without a port.
    static func isHost(_ byte: UInt8) -> Bool {
        isUnreserved(byte) || ":[]".utf8.contains(byte)
    }

    static func isAllowed(_ byte: UInt8) -> Bool {
        isUnreserved(byte) || ":/?#[]@!$&'()*+,;=%".utf8.contains(byte)
    }
}
