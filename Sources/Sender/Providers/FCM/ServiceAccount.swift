import Digests
import JSONReader
import Time

/// A Google service account: gets access tokens for FCM by a signed assertion (RFC 7523).
package struct ServiceAccount: Sendable {
    package static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// The longest life that Google allows an assertion, in seconds.
    static let assertionLife: Int64 = 3_600

    package let projectID: String
    package let email: String
    /// Where access tokens are asked for.
    package let tokenURL: String
    private let keyID: String
    private let key: SigningKey

    /// Reads the JSON file that Google's console gives.
    ///
    /// - Parameter file: its name, for errors.
    package init(json: [UInt8], file: String) throws(CredentialError) {
        var reader = JSONReader()
        let parsed = json.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in
                let value = try reader.parse(bytes)
                return ["type", "project_id", "private_key_id", "private_key", "client_email", "token_uri"].map {
                    (name: StaticString) in value.member(name)?.string.map { String($0) }
                }
            }
        }
        guard case .success(let texts) = parsed else {
            throw CredentialError(file: file, "it is not JSON; allowed is the key file of a Google service account")
        }
        guard texts[0] == "service_account" else {
            let found = texts[0] == nil ? "is missing" : "has another value"
            throw CredentialError(file: file, #"type \#(found); allowed is "service_account""#)
        }
        projectID = try Self.member(texts[1], "project_id", "the name of a project", file) { text in
            text.utf8.allSatisfy { Self.isNameByte($0) }
        }
        keyID = try Self.member(texts[2], "private_key_id", "the id of the key", file) { text in
            text.utf8.allSatisfy { Self.isNameByte($0) }
        }
        email = try Self.member(texts[4], "client_email", "the account's address", file) { text in
            text.utf8.allSatisfy { Self.isNameByte($0) || $0 == UInt8(ascii: "@") }
        }
        tokenURL = try Self.member(texts[5], "token_uri", "a URL that begins with https://", file) { text in
            text.hasPrefix("https://")
                && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        }
        let pem = try Self.member(texts[3], "private_key", "an RSA private key in PEM", file) { _ in true }
        key = try Self.key(Array(pem.utf8), .rs256, "private_key", file)
    }

    static func key(
        _ pem: [UInt8], _ algorithm: SigningKey.Algorithm, _ member: String, _ file: String
    ) throws(CredentialError) -> SigningKey {
        do {
            return try SigningKey(pem: pem, algorithm)
        } catch .unreadable {
            throw CredentialError(
                file: file, "\(member) is not a private key in PEM without a password; allowed is \(algorithm.keyKind)")
        } catch {
            throw CredentialError(file: file, "\(member) is another kind of key; allowed is \(algorithm.keyKind)")
        }
    }

    private static func member(
        _ text: String?, _ name: String, _ allowed: String, _ file: String, _ isAllowed: (String) -> Bool
    ) throws(CredentialError) -> String {
        guard let text, !text.isEmpty else {
            throw CredentialError(file: file, "\(name) is missing; allowed is \(allowed)")
        }
        guard isAllowed(text) else {
            throw CredentialError(file: file, "\(name) has another value; allowed is \(allowed)")
        }
        return text
    }

    static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: ":"):
            true
        default: false
        }
    }

    /// The assertion: a JWT, signed with RS256.
    package func assertion(now: WallTime) throws(SigningKey.Problem) -> [UInt8] {
        let issued = now.milliseconds / 1_000
        return try key.token(
            header: #"{"alg":"RS256","typ":"JWT","kid":"\#(keyID)"}"#,
            claims: #"{"iss":"\#(email)","scope":"\#(Self.scope)","aud":"\#(tokenURL)","iat":\#(issued),"#
                + #""exp":\#(issued + Self.assertionLife)}"#)
    }

    /// The body of the request for an access token: a form, `application/x-www-form-urlencoded`.
    package func tokenRequest(now: WallTime) throws(SigningKey.Problem) -> [UInt8] {
        Array("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=".utf8)
            + (try assertion(now: now))
    }
}
