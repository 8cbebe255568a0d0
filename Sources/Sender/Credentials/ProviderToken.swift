import Digests
import Foundation
import HTTPClient
import Pipeline

/// A credential whose files have been read: the one place that knows how a file of each source is read.
package enum LoadedCredential: Sendable {
    /// FCM: asks for access tokens by itself.
    case serviceAccount(ServiceAccount)
    /// FCM: a token that somebody else refreshes.
    case token(BearerToken, projectID: String)
    /// APNs.
    case providerKey(ProviderKey)

    /// Reads the credential's file. An error names the file and what is wrong with it, and has nothing of its contents.
    package static func read(_ credential: ProviderCredential) throws(CredentialError) -> LoadedCredential {
        switch credential.source {
        case .serviceAccount(let file):
            return .serviceAccount(try ServiceAccount(json: try contents(of: file), file: file))
        case .tokenFile(let file, let projectID):
            // It becomes a part of the URL.
            guard !projectID.isEmpty, projectID.utf8.allSatisfy(ServiceAccount.isNameByte) else {
                throw CredentialError(
                    file: file,
                    "its project_id is '\(projectID)'; allowed are letters, digits and the characters . : _ -")
            }
            return .token(try TokenFile.token(try contents(of: file), file: file), projectID: projectID)
        case .providerKey(let file, let keyID, let teamID):
            return .providerKey(
                try ProviderKey(pem: try contents(of: file), keyID: keyID, teamID: teamID, file: file))
        }
    }

    /// What is wrong with the credential's file although it can be read: nil, or a sentence.
    ///
    /// A link is followed: Kubernetes mounts a Secret's files as links.
    package static func warning(of credential: ProviderCredential) -> String? {
        let file = credential.source.file
        var status = stat()
        guard stat(file, &status) == 0, status.st_mode & S_IROTH != 0 else { return nil }
        return "credential '\(credential.name)': every user can read \(file); protect it with chmod 600, or 640 for a "
            + "group"
    }

    private static func contents(of file: String) throws(CredentialError) -> [UInt8] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: file, isDirectory: &isFolder) else {
            throw CredentialError(file: file, "there is no such file")
        }
        guard !isFolder.boolValue else { throw CredentialError(file: file, "it is a folder; allowed is a file") }
        guard let data = FileManager.default.contents(atPath: file) else {
            throw CredentialError(file: file, "it cannot be read; allowed is a file that this user may read")
        }
        return Array(data)
    }
}

/// The token of a credential, and how it is replaced.
struct ProviderToken {
    private var source: LoadedCredential
    /// Of a service account.
    private var access = AccessToken()
    /// The tag of the first request that was sent with the token that is used now.
    private var since: UInt64 = 0
    private var used: BearerToken?
    private var usedSince = WallTime.epoch

    init(_ loaded: LoadedCredential) {
        source = loaded
    }

    /// The token for a request; nil while there is none.
    mutating func token(for tag: UInt64, now: WallTime) throws(SigningKey.Problem) -> BearerToken? {
        let token: BearerToken?
        switch source {
        case .serviceAccount: token = access.current(now: now)
        case .token(let file, _): token = file
        case .providerKey(var key):
            token = try key.current(now: now)
            source = .providerKey(key)
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
        case .serviceAccount: access.current(now: now) != nil
        case .token, .providerKey: true
        }
    }

    /// The request for a new access token, if one is due.
    mutating func request(tag: UInt64, now: WallTime) throws(SigningKey.Problem) -> HTTPRequest? {
        switch source {
        case .serviceAccount(let account):
            guard access.begin(now: now) else { return nil }
            return HTTPRequest(
                tag: tag, url: account.tokenURL, headers: [.init("content-type", "application/x-www-form-urlencoded")],
                body: try account.tokenRequest(now: now))
        case .token, .providerKey: return nil
        }
    }

    /// What the token endpoint answered.
    ///
    /// - Returns: why there is no token; nil if there is one.
    mutating func complete(_ answer: AccessTokenAnswer, now: WallTime) -> String? {
        access.complete(answer, now: now)
    }

    /// The provider does not accept the token of a request any more: it is not used again.
    mutating func refuse(_ tag: UInt64, now: WallTime) {
        // An older request's token was replaced already.
        guard tag >= since, let used else { return }
        switch source {
        case .serviceAccount: access.refuse(used)
        case .providerKey(var key):
            _ = key.refuse(used, now: now)
            source = .providerKey(key)
        // Somebody else writes the next one into the file.
        case .token: break
        }
    }
}
