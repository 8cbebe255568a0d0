import Digests
import Notifications

/// The id of a device: of one installation of an app, which makes it. 1 to 128 letters and digits of ASCII, `.`, `_`, `~`
/// and `-`.
package struct DeviceID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package static let allowed = "1 to 128 letters and digits of ASCII, '.', '_', '~' and '-'"

    package let text: String

    package init?(_ text: String) {
        guard (1...128).contains(text.utf8.count),
            text.utf8.allSatisfy({ byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"),
                    UInt8(ascii: "-"):
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

/// The SHA-256 of an address, 32 bytes: what a device is called wherever its address is not needed.
package struct AddressHash: Hashable, Sendable {
    /// 64 digits of hex in lower case.
    package let hex: String

    package init(of value: String) {
        hex = SubscriptionKey.tokenHash(of: value)
    }

    /// Nil unless these are 64 digits of hex in lower case.
    package init?(hex: String) {
        guard SubscriptionKey.isTokenHash(hex) else { return nil }
        self.hex = hex
    }

    package var bytes: [UInt8] {
        var hex = hex
        return [UInt8](unsafeUninitializedCapacity: 32) { bytes, count in
            _ = hex.withUTF8 { Hex.read(UnsafeRawBufferPointer($0), to: UnsafeMutableRawPointer(bytes.baseAddress!)) }
            count = 32
        }
    }
}
