import Notifications

/// An audience, or with `*` at its end all that begin as it does. Compared by bytes, as audiences are everywhere.
enum AudiencePattern {
    static let allowed = "those such as place/42 and place/*"

    static func isOne(_ text: String) -> Bool {
        !text.utf8.dropLast().contains(UInt8(ascii: "*"))
            && Audience.allCases.contains { text.utf8.starts(with: "\($0.prefix)".utf8) }
    }

    static func matches(_ pattern: String, _ audience: String) -> Bool {
        pattern.utf8.last == UInt8(ascii: "*")
            ? audience.utf8.starts(with: pattern.utf8.dropLast()) : audience.utf8.elementsEqual(pattern.utf8)
    }
}
