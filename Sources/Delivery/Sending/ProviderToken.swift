import Digests
import HTTPClient
import Pipeline

/// The token of a credential, and how it is replaced.
struct ProviderToken {
    private enum Source {
        case account(ServiceAccount, AccessToken)
        case file(BearerToken)
        case key(ProviderKey)
    }

    private var source: Source
    /// The tag of the first request that was sent with the token that is used now.
    private var since: UInt64 = 0
    private var used: BearerToken?
    private var usedSince = WallTime.epoch

    init(_ loaded: LoadedCredential) {
        switch loaded {
        case .serviceAccount(let account): source = .account(account, AccessToken())
        case .token(let token, _): source = .file(token)
        case .providerKey(let key): source = .key(key)
        }
    }

    /// The token for a request; nil while there is none.
    mutating func token(for tag: UInt64, now: WallTime) throws(SigningKey.Problem) -> BearerToken? {
        let token: BearerToken?
        switch source {
        case .account(_, let access): token = access.current(now: now)
        case .file(let file): token = file
        case .key(var key):
            token = try key.current(now: now)
            source = .key(key)
        }
        if token != used {
            used = token
            usedSince = now
            since = tag
        }
        return token
    }

    /// How long the token of the last request has been used; nil before the first one.
    func age(now: WallTime) -> Duration? { used == nil ? nil : .milliseconds(max(0, now - usedSince)) }

    /// Whether there is a token to send with.
    func isReady(now: WallTime) -> Bool {
        switch source {
        case .account(_, let access): access.current(now: now) != nil
        case .file, .key: true
        }
    }

    /// The request for a new access token, if one is due.
    mutating func request(tag: UInt64, now: WallTime) throws(SigningKey.Problem) -> HTTPRequest? {
        guard case .account(let account, var access) = source, access.begin(now: now) else { return nil }
        source = .account(account, access)
        return HTTPRequest(
            tag: tag, url: account.tokenURL, headers: [.init("content-type", "application/x-www-form-urlencoded")],
            body: try account.tokenRequest(now: now))
    }

    /// What the token endpoint answered.
    ///
    /// - Returns: why there is no token; nil if there is one.
    mutating func complete(_ answer: AccessTokenAnswer, now: WallTime) -> String? {
        guard case .account(let account, var access) = source else { return nil }
        let reason = access.complete(answer, now: now)
        source = .account(account, access)
        return reason
    }

    /// The provider does not accept the token of a request any more: it is not used again.
    mutating func refuse(_ tag: UInt64, now: WallTime) {
        // An older request's token was replaced already.
        guard tag >= since, let used else { return }
        switch source {
        case .account(let account, var access):
            access.refuse(used)
            source = .account(account, access)
        case .key(var key):
            _ = key.refuse(used, now: now)
            source = .key(key)
        // Somebody else writes the next one into the file.
        case .file: break
        }
    }
}
