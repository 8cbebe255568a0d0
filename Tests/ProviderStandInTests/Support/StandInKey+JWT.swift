import CTLS
import Digests

@testable import ProviderStandIn

extension StandInKey {
    /// A JWT with this header and these claims, both JSON.
    func jwt(header: String, claims: String) -> String {
        let text = Self.base64URL(header.utf8) + "." + Self.base64URL(claims.utf8)
        var signature = [UInt8](repeating: 0, count: 512)
        let count = ctls_sign_jwt(pointer, Array(text.utf8), text.utf8.count, &signature, signature.count)
        return text + "." + Self.base64URL(signature[..<count])
    }

    private static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Base64URL.encode(bytes), as: UTF8.self)
    }
}
