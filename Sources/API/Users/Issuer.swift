import Digests
import JSONReader
import Pipeline

/// Whose tokens are believed, and how far: one entry of the file of issuers. An issuer has one for each of its keys.
package struct Issuer: Sendable {
    /// An issuer's name and one of its keys'. Compared by bytes (RFC 7519 §2, StringOrURI).
    package struct ID: Hashable, Sendable, CustomStringConvertible {
        package let issuer: [UInt8]
        package let keyID: [UInt8]

        package var description: String {
            "key '\(String(decoding: keyID, as: UTF8.self))' of '\(String(decoding: issuer, as: UTF8.self))'"
        }
    }

    /// The most that a token may live, and what it may live where the file does not say.
    package static let mostTTL = Duration.seconds(86_400)

    package let id: ID
    package let key: VerifyingKey
    /// The longest time from `iat` to `exp`.
    package let maxTTL: Duration
    /// Which audiences its tokens can grant, beside the person's own: exact, or with `*` for any rest.
    package let audiences: [String]
    /// Empty: every app.
    package let apps: [String]
}

extension Issuer {
    /// - Parameter read: reads the file of a secret.
    init?(_ form: inout Form, _ read: (String) throws(InvalidForm) -> [UInt8]) {
        let (issuer, keyID) = (Self.name("iss", &form), Self.name("kid", &form))
        let id = issuer.flatMap { issuer in keyID.map { ID(issuer: Array(issuer.utf8), keyID: Array($0.utf8)) } }
        if let id { form.name = id.description }
        form.only("iss", "kid", "alg", "key", "secret_file", "max_ttl", "audiences", "apps")
        let algorithm = form.text("alg").flatMap { form.one(of: VerifyingKey.Algorithm.self, $0, "alg") }
        let key = algorithm.flatMap { Self.key($0, &form, read) }
        var maxTTL: Duration? = Self.mostTTL
        if let value = form["max_ttl"] {
            maxTTL = value.string.flatMap { ConfigurationText.duration(String($0)) }
            if maxTTL.map({ (.seconds(1)...Self.mostTTL).contains($0) }) != true {
                form.problem("has a max_ttl that is not one; allowed are 1s to \(ConfigurationText.text(Self.mostTTL))")
            }
        }
        if form["audiences"] == nil { form.problem("needs audiences, a list of texts, which may be empty") }
        let audiences = form.texts("audiences", mayBeEmpty: true)
        for audience in audiences where !Self.canGrant(audience) {
            form.problem(
                "has the audience '\(audience)'; allowed are those such as place/42, place/* and channel/*: a person's "
                    + "own is always granted, another's never")
        }
        let apps = form.texts("apps")
        guard let id, let key, let maxTTL else { return nil }
        self.init(id: id, key: key, maxTTL: maxTTL, audiences: audiences, apps: apps)
    }

    private static func name(_ member: String, _ form: inout Form) -> String? {
        guard let text = form.text(member) else { return nil }
        guard text.utf8.count <= 256, !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            form.problem("has a \(member) that is not one; allowed are 1 to 256 bytes without control characters")
            return nil
        }
        return text
    }

    private static func canGrant(_ audience: String) -> Bool {
        AudiencePattern.isOne(audience)
            && ["place/", "channel/"].contains { audience.utf8.starts(with: $0.utf8) }
    }

    private static func key(
        _ algorithm: VerifyingKey.Algorithm, _ form: inout Form, _ read: (String) throws(InvalidForm) -> [UInt8]
    ) -> VerifyingKey? {
        let (member, other) = algorithm == .hs256 ? ("secret_file", "key") : ("key", "secret_file")
        if form[other] != nil {
            form.problem("has \(other), but \(algorithm.rawValue) needs \(member), with \(algorithm.keyKind)")
        }
        guard let text = form.text(member),
            let bytes = algorithm == .hs256 ? secret(text, &form, read) : Array(text.utf8)
        else { return nil }
        do throws(VerifyingKey.Problem) {
            return try VerifyingKey(bytes, algorithm)
        } catch {
            let reason =
                switch error {
                case .unreadable: "cannot be read"
                case .isPrivate: "is private, which only who signs may have"
                case .otherKind: "is of another kind"
                case .noSecret: "is too short, too long or no secret"
                }
            form.problem("has a \(member) that \(reason); \(algorithm.rawValue) needs \(algorithm.keyKind)")
            return nil
        }
    }

    /// The file's bytes without a line feed at its end, which `echo` writes.
    private static func secret(
        _ path: String, _ form: inout Form, _ read: (String) throws(InvalidForm) -> [UInt8]
    ) -> [UInt8]? {
        do throws(InvalidForm) {
            var bytes = try read(path)
            if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
            // Who has the key could sign for every person, and who has the secret could send.
            let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            guard !words.contains(where: { (try? APIKey($0)) != nil }) else {
                form.problem("has a secret_file with an API key; allowed is a secret that is used for nothing else")
                return nil
            }
            return bytes
        } catch {
            for problem in error.problems { form.problem("has a secret_file that cannot be used: \(problem)") }
            return nil
        }
    }
}
