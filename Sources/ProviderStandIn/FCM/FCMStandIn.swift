import Digests
import JSONReader
import Synchronization

/// FCM's HTTP v1 endpoint with the OAuth2 token endpoint, for one service account (push-rules §1.1–§1.4).
package final class FCMStandIn: Sendable {
    package static let projectID = "test-project"
    package static let clientEmail = "sender@test-project.iam.gserviceaccount.com"
    private static let scopes: Set<String> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]

    private struct State {
        var faults = FaultTable()
        var observer: StandInObserver?
        var reader = FCMReader()
        /// When access tokens end, in seconds of the epoch.
        var tokens: [String: Int64] = [:]
        var tokenLife: Int64 = 3_599
        var grants = 0
        var sent = 0
    }

    package let key: StandInKey
    private let state: Mutex<State>

    package init() throws(StandInError) {
        key = try StandInKey(.rsa2048)
        state = Mutex(State())
    }

    /// The file that a sender is given, with this server's address as `token_uri`.
    package func serviceAccount(_ server: StandInServer) -> String {
        """
        {"type":"service_account","project_id":"\(Self.projectID)","private_key_id":"0123456789abcdef",\
        "private_key":\(JSONQuote.text(key.pem)),"client_email":"\(Self.clientEmail)",\
        "token_uri":"\(tokenURL(server))"}
        """
    }

    package func tokenURL(_ server: StandInServer) -> String { "https://127.0.0.1:\(server.port)/token" }

    /// The next so many requests for this token meet this fault; nil ends it.
    package func set(_ fault: StandInFault?, for token: String, times: Int = .max) {
        state.withLock { $0.faults.set(fault, for: token, times: times) }
    }

    /// Requests for all tokens that have no fault of their own meet these from now on.
    package func setFaults(_ faults: @escaping StandInFaults) {
        state.withLock { $0.faults.others = faults }
    }

    /// From now on.
    package func observe(_ observer: @escaping StandInObserver) {
        state.withLock { $0.observer = observer }
    }

    /// Seconds that access tokens are valid from now on.
    package func setTokenLife(_ seconds: Int64) {
        state.withLock { $0.tokenLife = seconds }
    }

    /// No access token that was given is valid any more.
    package func revokeTokens() {
        state.withLock { $0.tokens = [:] }
    }

    /// How many access tokens were given.
    package var grants: Int { state.withLock { $0.grants } }

    package func answer(_ request: StandInRequest) -> StandInAnswer {
        let path = request.path.prefix { $0 != "?" }
        guard request.method == "POST" else { return FCMError(code: 404, message: "Not found").answer }
        if path == "/token" { return grant(request) }
        guard path.hasPrefix("/v1/projects/"), path.hasSuffix("/messages:send") else {
            return FCMError(code: 404, message: "Not found").answer
        }
        let project = path.dropFirst("/v1/projects/".count).dropLast("/messages:send".count)
        return state.withLock { send(request, project: project, &$0) }
    }

    private func send(_ request: StandInRequest, project: Substring, _ state: inout State) -> StandInAnswer {
        guard let authorization = request[header: "authorization"], authorization.lowercased().hasPrefix("bearer "),
            let end = state.tokens[String(authorization.dropFirst(7))], end > UnixTime.now
        else {
            return reject(
                FCMError(
                    code: 401,
                    message: "Request had invalid authentication credentials. Expected OAuth 2 access token."),
                FCMReader.Message(), request, &state)
        }
        guard project == Self.projectID else {
            return reject(
                FCMError(code: 404, message: "Requested entity was not found."), FCMReader.Message(), request, &state)
        }
        let message: FCMReader.Message
        switch state.reader.read(request.body) {
        case .failure(let error): return reject(error.error, FCMReader.Message(), request, &state)
        case .success(let read): message = read
        }
        if message.validateOnly {
            return StandInAnswer(
                status: 200, headers: [("content-type", "application/json; charset=UTF-8")],
                body: #"{"name":"projects/\#(Self.projectID)/messages/fake_message_id"}"#)
        }
        let fault = state.faults.next(for: message.target)
        if let fault, let refusal = refusal(by: fault) {
            if case .error(let error) = refusal { return reject(error, message, request, &state, fault) }
            state.observer?(
                StandInRecord(
                    tokenHash: SHA256.hex(of: message.target), status: 502, reason: "html", id: nil,
                    collapseID: message.collapseKey,
                    lifetime: message.ttl, body: request.body), fault)
            return StandInAnswer(
                status: 502, headers: [("content-type", "text/html")],
                body: "<html><title>Error 502 (Server Error)!!1</title></html>")
        }
        return accept(message, fault, request, &state)
    }

    private func accept(
        _ message: FCMReader.Message, _ fault: StandInFault?, _ request: StandInRequest, _ state: inout State
    ) -> StandInAnswer {
        state.sent += 1
        let digits = String(state.sent, radix: 16)
        let name =
            "projects/\(Self.projectID)/messages/" + String(repeating: "0", count: 16 - digits.count) + digits
        state.observer?(
            StandInRecord(
                tokenHash: SHA256.hex(of: message.target), status: 200, reason: nil, id: name,
                collapseID: message.collapseKey,
                lifetime: message.ttl, body: request.body), fault)
        var answer = StandInAnswer(
            status: 200, headers: [("content-type", "application/json; charset=UTF-8")],
            body: #"{"name":"\#(name)"}"#)
        answer.course = StandInAnswer.Course(fault)
        return answer
    }

    private func reject(
        _ error: FCMError, _ message: FCMReader.Message, _ request: StandInRequest, _ state: inout State,
        _ fault: StandInFault? = nil
    ) -> StandInAnswer {
        state.observer?(
            StandInRecord(
                tokenHash: SHA256.hex(of: message.target), status: error.code, reason: error.reason, id: nil,
                collapseID: message.collapseKey, lifetime: message.ttl, body: request.body), fault)
        return error.answer
    }

    private enum Refusal {
        case error(FCMError)
        case html
    }

    /// nil for a fault that accepts the message.
    private func refusal(by fault: StandInFault) -> Refusal? {
        switch fault {
        case .unregistered:
            .error(FCMError(code: 404, message: "Requested entity was not found.", errorCode: "UNREGISTERED"))
        case .invalidToken:
            .error(
                FCMError(
                    code: 400, message: "The registration token is not a valid FCM registration token",
                    errorCode: "INVALID_ARGUMENT",
                    violations: [.init(field: "message.token", description: "Invalid registration token")]))
        case .mismatch: .error(FCMError(code: 403, message: "SenderId mismatch", errorCode: "SENDER_ID_MISMATCH"))
        case .thirdPartyAuth:
            .error(
                FCMError(
                    code: 401, message: "Auth error from APNS or Web Push Service",
                    errorCode: "THIRD_PARTY_AUTH_ERROR"))
        case .quota(let after):
            .error(
                FCMError(
                    code: 429, message: "Quota exceeded for quota metric", errorCode: "QUOTA_EXCEEDED",
                    retryAfter: after))
        case .unavailable(let after):
            .error(
                FCMError(
                    code: 503, message: "The service is currently unavailable.", errorCode: "UNAVAILABLE",
                    retryAfter: after))
        case .internalError:
            .error(FCMError(code: 500, message: "Internal error encountered.", errorCode: "INTERNAL"))
        case .badMessage:
            .error(
                FCMError(code: 400, message: "Request contains an invalid argument.", errorCode: "INVALID_ARGUMENT"))
        case .other(let status, let reason):
            .error(FCMError(code: status, message: reason, errorCode: reason.isEmpty ? nil : reason))
        case .htmlError: .html
        case .slow, .hang, .reset: nil
        }
    }
}

// MARK: The OAuth2 token endpoint

extension FCMStandIn {
    private func grant(_ request: StandInRequest) -> StandInAnswer {
        let form = Form(request.body)
        guard form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer", let assertion = form["assertion"]
        else { return Self.deny("unsupported_grant_type", "Invalid grant_type") }
        guard let token = JSONWebToken(assertion) else { return Self.deny("invalid_grant", "Invalid JWT: not JSON") }
        guard token.algorithm == "RS256", key.signed(token.signed.utf8, token.signature, es256: false) else {
            return Self.deny("invalid_grant", "Invalid JWT Signature.")
        }
        guard token.texts["iss"] == Self.clientEmail else { return Self.deny("invalid_grant", "Invalid issuer") }
        let audience = token.texts["aud"] ?? ""
        let host = request[header: "host"] ?? "127.0.0.1"
        guard
            audience == "https://oauth2.googleapis.com/token"
                || audience.hasPrefix("https://\(host.prefix { $0 != ":" })")
        else { return Self.deny("invalid_grant", "Invalid audience") }
        let now = UnixTime.now
        guard let issued = token.numbers["iat"], let end = token.numbers["exp"], issued <= now + 60, end > now,
            end - issued <= 3_600
        else {
            return Self.deny(
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                    + "Check your iat and exp values in the JWT claim.")
        }
        guard (token.texts["scope"] ?? "").split(separator: " ").contains(where: { Self.scopes.contains(String($0)) })
        else { return Self.deny("invalid_scope", nil) }
        return state.withLock { state in
            let token = Self.makeToken(&state)
            return Self.json(
                200, #"{"access_token":"\#(token)","expires_in":\#(state.tokenLife),"token_type":"Bearer"}"#)
        }
    }

    /// An access token without an assertion, for a sender that has a token file.
    package func makeAccessToken() -> String {
        state.withLock { Self.makeToken(&$0) }
    }

    private static func makeToken(_ state: inout State) -> String {
        state.grants += 1
        let token = "ya29.test-" + String(UInt64.random(in: 0 ... .max), radix: 16) + "-\(state.grants)"
        state.tokens[token] = UnixTime.now + state.tokenLife
        return token
    }

    private static func deny(_ error: String, _ description: String?) -> StandInAnswer {
        let tail = description.map { #","error_description":\#(JSONQuote.text($0))"# } ?? ""
        return json(400, #"{"error":"\#(error)"\#(tail)}"#)
    }

    private static func json(_ status: Int, _ body: String) -> StandInAnswer {
        StandInAnswer(status: status, headers: [("content-type", "application/json; charset=utf-8")], body: body)
    }
}

extension StandInAnswer.Course {
    init(_ fault: StandInFault?) {
        switch fault {
        case .slow(let time): self = .after(time)
        case .hang: self = .never
        case .reset: self = .resetConnection
        case nil, .unregistered, .invalidToken, .mismatch, .thirdPartyAuth, .quota, .unavailable, .internalError,
            .htmlError, .badMessage, .other:
            self = .now
        }
    }
}
