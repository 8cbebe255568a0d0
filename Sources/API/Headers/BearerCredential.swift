/// What `Authorization: Bearer` has (RFC 6750 §2.1), or another scheme.
enum BearerCredential {
    /// - Parameters:
    ///   - authorization: the header's value.
    ///   - scheme: in lower case.
    /// - Returns: nil where it is absent, or of another scheme.
    static func text(_ authorization: String?, of scheme: String = "bearer") -> Substring? {
        guard let authorization else { return nil }
        let parts = authorization.utf8.split(
            separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false
        ).map { Substring($0) }
        guard parts.count == 2, parts[0].lowercased() == scheme else { return nil }
        return parts[1]
    }

    /// A token of an app's user, which has dots and no key has.
    static func token(_ authorization: String?) -> Substring? {
        text(authorization).flatMap { $0.utf8.contains(UInt8(ascii: ".")) ? $0 : nil }
    }
}
