import Digests
import Time

/// A team's key for APNs, and the provider tokens that it signs (ES256).
///
/// APNs refuses a token of more than an hour, and a new one within twenty minutes of the last.
package struct ProviderKey: Sendable {
    /// The age at which a token is replaced, in milliseconds.
    static let age: Int64 = 45 * 60_000
    /// The age below which no other is made.
    static let youngest: Int64 = 20 * 60_000

    package let keyID: String
    package let teamID: String
    private let key: SigningKey
    private var token: BearerToken?
    private var issuedAt = WallTime.epoch

    /// Reads the `.p8` file that Apple gives.
    ///
    /// - Parameters:
    ///   - keyID: ten characters; it is part of the file's name.
    ///   - teamID: ten characters.
    ///   - file: its name, for errors.
    package init(pem: [UInt8], keyID: String, teamID: String, file: String) throws(CredentialError) {
        for (name, id) in [("key id", keyID), ("team id", teamID)] where !Self.isID(id) {
            throw CredentialError(
                file: file, "the \(name) has \(id.utf8.count) bytes; allowed are ten letters A to Z and digits")
        }
        key = try ServiceAccount.key(pem, .es256, "the file", file)
        self.keyID = keyID
        self.teamID = teamID
    }

    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            }
    }

    /// The token to send with; makes one if there is none or it is 45 minutes old.
    package mutating func current(now: WallTime) throws(SigningKey.Problem) -> BearerToken {
        if let token, now - issuedAt < Self.age, now >= issuedAt { return token }
        return try make(now: now)
    }

    /// APNs calls this token expired.
    ///
    /// - Returns: whether the next one is another. It is not if the token is younger than 20 minutes: then it is the
    ///   clock that is wrong, and a new token would be one too many.
    package mutating func refuse(_ refused: BearerToken, now: WallTime) -> Bool {
        guard refused == token else { return true }
        guard now - issuedAt >= Self.youngest || now < issuedAt else { return false }
        token = nil
        return true
    }

    private mutating func make(now: WallTime) throws(SigningKey.Problem) -> BearerToken {
        let signed = try key.token(
            header: #"{"alg":"ES256","kid":"\#(keyID)"}"#,
            claims: #"{"iss":"\#(teamID)","iat":\#(now.milliseconds / 1_000)}"#)
        guard let made = BearerToken(signed) else { throw .failedToSign }
        token = made
        issuedAt = now
        return made
    }
}
