/// The URLs that a tap on a push opens, by the type of the order (document 3, "Deep Link URLs").
///
/// A template is an https URL with `{order_id}` in its path, query or fragment. Pure: the same keys give the same URL.
public struct DeepLinks: Hashable, Sendable {
    /// The types of order that have a link.
    public static let orderTypes = ["food", "d2d"]

    /// The template of each type of order that has one.
    public let templates: [String: String]

    /// No links.
    public init() {
        templates = [:]
    }

    /// - Parameter templates: by type of order, `food` or `d2d`; a type without one has no links.
    /// - Throws: ``DeepLinksError``, which names everything that is wrong.
    public init(templates: [String: String]) throws(DeepLinksError) {
        let problems = templates.sorted { $0.key < $1.key }.compactMap(Self.problem)
        guard problems.isEmpty else { throw DeepLinksError(problems: problems) }
        self.templates = templates
    }

    /// The URL of an order.
    ///
    /// The id is percent-encoded: every byte of its UTF-8 but RFC 3986's unreserved characters, so also `+`, which PHP
    /// would read as a space.
    ///
    /// - Parameters:
    ///   - orderType: matched ignoring the case of ASCII letters (document 3, "Requirements").
    ///   - orderID: as it was sent.
    /// - Returns: nil for a type that has no template, and for an empty id.
    public func url(orderType: String, orderID: String) -> String? {
        guard !orderID.isEmpty, let template = templates[Self.lowercased(orderType)] else { return nil }
        let parts = template.split(separator: "{", maxSplits: 1, omittingEmptySubsequences: false)
        guard let front = parts.first, let back = parts.last?.drop(while: { $0 != "}" }).dropFirst() else { return nil }
        return front + Self.percentEncoded(orderID) + back
    }

    /// The URL for the keys of a push; see ``url(orderType:orderID:)``.
    public func url(for keys: DeepLinkKeys) -> String? {
        url(orderType: keys.orderType, orderID: keys.orderID)
    }

    private static func lowercased(_ text: String) -> String {
        let isUpper = { (byte: UInt8) in UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte }
        return String(decoding: text.utf8.map { isUpper($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    private static func percentEncoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if URLBytes.isUnreserved(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
