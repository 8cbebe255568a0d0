import Digests
import Notifications
import Registrar

/// What an app shows that has the credential of its device: `Authorization: Device <device>:<secret>`. Of the secret only the
/// hash is kept.
package struct DeviceCredential: Equatable, Sendable {
    package let device: DeviceID
    /// The SHA-256 of the secret, in hex.
    package let hash: ByteText

    /// - Parameter text: what `Authorization: Device` has.
    /// - Returns: nil if it is none.
    init?(_ text: Substring) {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2, let device = DeviceID(String(Substring(parts[0]))),
            parts[1].count == APIKey.secretCount, parts[1].allSatisfy(APIKey.isDigit)
        else { return nil }
        self.device = device
        hash = Self.hash(of: String(Substring(parts[1])))
    }

    static func hash(of secret: String) -> ByteText { ByteText(SHA256.hex(of: secret)) }

    /// 256 bits, as digits and letters.
    static func makeSecret() -> String { APIKey.randomDigits(APIKey.secretCount) }
}
