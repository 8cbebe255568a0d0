/// A request to the HTTP API, which the app sends to its address over TLS.
public struct RegistrationRequest: Hashable, Sendable, CustomStringConvertible {
    public var method: String
    /// `/v1/devices/…`
    public var path: String
    /// The header `Authorization`: a secret.
    public var authorization: String
    /// JSON, with an address in it; nil: none.
    public var body: String?

    public var description: String { "\(method) \(path)" }
}

/// What came back.
public struct RegistrationResponse: Hashable, Sendable {
    public var status: Int
    /// The header `Retry-After`, in seconds, where it is a number.
    public var retryAfter: Int?
    public var body: String

    public init(status: Int, retryAfter: Int? = nil, body: String = "") {
        (self.status, self.retryAfter, self.body) = (status, retryAfter, body)
    }
}

/// How a registration has ended.
public enum RegistrationOutcome: Hashable, Sendable {
    /// The server has it as the app wants it.
    case registered
    /// The same person's address, language and time zone are as the app wants; there was no token for the rest.
    case refreshed
    /// Nobody is logged in on it, and it gets nothing for the person before.
    case loggedOut
    case unregistered
    /// It is recorded, and will be decided.
    case recorded
    /// Nothing can be done without a token of the user: it was asked for, and there was none.
    case needsUserToken
    /// The person was erased after the token was issued: the app logs out.
    case personErased
    /// It cannot be so. `code` and `detail` are the problem's (docs/api.md).
    case refused(status: Int, code: String, detail: String)
    /// No answer in time. The next call goes on.
    case notReached
    /// What this installation is known by cannot be read or stored: nothing was sent.
    case notStored
}
