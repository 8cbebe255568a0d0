/// The id of a device: of one installation of an app, which makes it, and keeps it where backups do not go. 16 to 64
/// letters and digits of ASCII, `_` and `-`: a UUID, or Firebase's installation id.
package struct DeviceID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package static let allowed = "16 to 64 letters and digits of ASCII, '_' and '-'"

    package let text: String

    package init?(_ text: String) {
        guard (16...64).contains(text.utf8.count),
            text.utf8.allSatisfy({ byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            })
        else { return nil }
        self.text = text
    }

    package var description: String { text }

    package static func < (left: Self, right: Self) -> Bool { left.text < right.text }
}
