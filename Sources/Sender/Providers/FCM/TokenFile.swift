/// A file with an access token that somebody else refreshes: the token alone, with blanks and line ends around it.
package enum TokenFile {
    package static func token(_ contents: [UInt8], file: String) throws(CredentialError) -> BearerToken {
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        let start = contents.firstIndex { !blanks.contains($0) } ?? contents.endIndex
        let end = contents.lastIndex { !blanks.contains($0) }.map { $0 + 1 } ?? start
        guard start < end else { throw CredentialError(file: file, "it is empty; allowed is an access token") }
        guard let token = BearerToken(contents[start..<end]) else {
            throw CredentialError(
                file: file,
                "it has more than a token; allowed is an access token on one line: visible ASCII, at most 8,192 bytes")
        }
        return token
    }
}
