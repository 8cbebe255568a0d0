import JSONReader

/// What a token endpoint answered (RFC 6749 §5).
package enum AccessTokenAnswer: Equatable, Sendable {
    /// The token, and how long it lives, in milliseconds.
    case token(BearerToken, life: Int64)
    /// The credential is not accepted; with OAuth's code, such as `invalid_grant`.
    case refused(reason: String)
    /// To be asked again later.
    case failed(reason: String)

    /// Reads an answer. Anything but a token, and anything but a clear refusal, is worth another try.
    package init(status: Int, body: UnsafeRawBufferPointer) {
        var reader = JSONReader()
        let value = try? reader.parse(body)
        let code = ProviderCode.text(value?.member("error")?.string) ?? ProviderCode.http(status)
        switch status {
        case 200:
            guard let text = value?.member("access_token")?.string, let token = BearerToken(text.bytes),
                let seconds = value?.member("expires_in")?.integer, (1...604_800).contains(seconds)
            else {
                self = .failed(reason: "unreadable_token")
                return
            }
            self = .token(token, life: seconds * 1_000)
        case 400, 401, 403: self = .refused(reason: code)
        default: self = .failed(reason: code)
        }
    }
}

/// A token that is sent as `authorization`. Its descriptions do not show it.
package struct BearerToken: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let bytes: [UInt8]

    /// Nil for a text that a header cannot carry: empty, over 8,192 bytes, or with others than visible ASCII.
    package init?(_ text: some Collection<UInt8>) {
        guard (1...8_192).contains(text.count), text.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        bytes = Array(text)
    }

    /// The value of the header of an HTTP request.
    ///
    /// - Parameter scheme: as the provider spells it, such as `Bearer`.
    package func header(_ scheme: StaticString) -> String { "\(scheme) " + String(decoding: bytes, as: UTF8.self) }

    package var description: String { "<redacted>" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
