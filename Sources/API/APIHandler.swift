import HTTPServer
import Pipeline
import Synchronization
import Time

/// Answers the requests of backends: finds the endpoint, then whether the sender may use it, and only then takes the body.
package final class APIHandler: HTTPHandler {
    /// What the outside gives: the present time, a name for the next request, and chance from 0 to 1; and what hears of
    /// each answer, with the time that it took.
    package struct Surroundings: Sendable {
        package var now: @Sendable () -> WallTime
        package var requestID: @Sendable () -> String
        package var chance: @Sendable () -> Double
        package var answered: @Sendable (Call, HTTPResponse.Status, Duration) -> Void
        /// Whether a credential is that of its device, as far as is known.
        package var knows: @Sendable (DeviceCredential) -> Bool = { _ in false }
        /// Whether the person of a token was erased after it was issued, as far as is known.
        package var isErased: @Sendable (UserToken) -> Bool = { _ in false }

        package init(
            now: @escaping @Sendable () -> WallTime, requestID: @escaping @Sendable () -> String,
            chance: @escaping @Sendable () -> Double,
            answered: @escaping @Sendable (Call, HTTPResponse.Status, Duration) -> Void = { _, _, _ in }
        ) {
            (self.now, self.requestID, self.chance, self.answered) = (now, requestID, chance, answered)
        }
    }

    private let router: Router
    private let environment: APIKey.Environment
    private let rate: Int
    private let proxies: [IPNetwork]
    private let surroundings: Surroundings
    private let ring: Mutex<KeyRing>
    /// By the ids of keys, which bound their number.
    private let buckets = Mutex<[String: KeyTokenBucket]>([:])
    /// Nil: nobody signs tokens for users.
    private let verifier = Mutex<TokenVerifier?>(nil)
    /// Requests of users and devices, by person and device, and tokens and credentials that were refused, by the
    /// ``IPAddress/origin`` of the client.
    private let requests = Mutex(WindowCounter(most: 120, within: .seconds(60)))
    private let refusals = Mutex(WindowCounter(most: 60, within: .seconds(60)))

    /// - Parameters:
    ///   - rate: requests a second of a key that has no rate of its own.
    ///   - proxies: whose `X-Forwarded-For` counts.
    package init(
        _ router: Router, _ ring: KeyRing, _ environment: APIKey.Environment, rate: Int, proxies: [IPNetwork] = [],
        _ surroundings: Surroundings
    ) {
        self.router = router
        self.environment = environment
        self.rate = rate
        self.proxies = proxies
        self.surroundings = surroundings
        self.ring = Mutex(ring)
    }

    /// The file of keys was read again.
    package func replace(_ new: KeyRing) {
        ring.withLock { $0 = new }
        let ids = Set(new.entries.map(\.id))
        buckets.withLock { buckets in buckets = buckets.filter { ids.contains($0.key) } }
    }

    /// The file of issuers was read again.
    package func replace(_ new: IssuerList) {
        verifier.withLock { $0 = TokenVerifier(new) }
    }

    package func admit(_ head: IncomingRequest) -> HTTPAdmission {
        let began = ContinuousClock.now
        var call = Call(head, id: surroundings.requestID())
        call.client = ForwardedClient.address(of: head, trusting: proxies)
        do throws(Problem) {
            let match = try router.find(head)
            let operation = match.endpoint.operation
            (call.operation, call.pathValues, call.query) = (operation, match.pathValues, match.query)
            let authorization = head.header("authorization")
            if operation.isForUsers, let token = BearerCredential.token(authorization) {
                call.user = try user(token, Self.origin(of: call))
            } else if operation.isForDevices, let text = BearerCredential.text(authorization, of: "device") {
                call.credential = try device(text, Self.origin(of: call))
            } else if !operation.scopes.isEmpty {
                let key = try key(of: head, for: operation)
                call.key = key
                call.headers += try take(key)
            }
            try router.check(match, head)
            let admitted = call
            return .read(atMost: operation.largestBody) { request in
                var call = admitted
                call.request = request
                // A secret is kept no longer than it is needed.
                call.request.headers.removeAll { $0.name == "authorization" }
                return self.reply(to: call, match.endpoint, began)
            }
        } catch {
            return .refuse(told(call, began, call.response(to: error)))
        }
    }

    private func reply(to call: Call, _ endpoint: Endpoint, _ began: ContinuousClock.Instant) -> HTTPReply {
        do throws(Problem) {
            switch try endpoint.answer(call) {
            case .now(let response): return .now(told(call, began, response))
            case .later(let time, let otherwise, let begin):
                let exchange = HTTPExchange(otherwise: call.response(to: otherwise)) { _ = self.told(call, began, $0) }
                begin { exchange.answer($0) }
                return .later(exchange, within: time)
            }
        } catch {
            return .now(told(call, began, call.response(to: error)))
        }
    }

    package func response(to refusal: HTTPRefusal) -> HTTPResponse {
        let call = unread()
        return told(call, .now, call.response(to: Problem(refusal)))
    }

    package func refused(_ status: HTTPResponse.Status) {
        surroundings.answered(unread(), status, .zero)
    }

    /// What the server has refused by itself.
    private func unread() -> Call {
        Call(IncomingRequest(method: "", target: "", headers: []), id: surroundings.requestID())
    }

    private func told(_ call: Call, _ began: ContinuousClock.Instant, _ response: HTTPResponse) -> HTTPResponse {
        surroundings.answered(call, response.status, .now - began)
        return response
    }

    private static func origin(of call: Call) -> String { IPAddress(call.client)?.origin ?? call.client }

    private func user(_ token: Substring, _ origin: String) throws(Problem) -> UserToken {
        let now = surroundings.now()
        guard let verifier = verifier.withLock({ $0 }) else {
            throw Problem(.badToken, "no issuer of user tokens is known here; a key is needed")
        }
        guard refusals.withLock({ $0.isBelow(origin, at: now) }) else {
            throw Self.tooMany("too many tokens from this address were refused within a minute")
        }
        let user: UserToken
        do throws(TokenRefusal) {
            user = try verifier.verify(Array(token.utf8), at: now)
        } catch {
            refusals.withLock { $0.count(origin, at: now) }
            throw Problem(error == .expired ? .expiredToken : .badToken, error.rawValue)
        }
        guard takes("user \(user.subject)", at: now) else {
            throw Self.tooMany("the person has sent too many requests within a minute")
        }
        guard !surroundings.isErased(user) else { throw .personErased }
        return user
    }

    /// One that is not known here may have been made a moment ago: the registrar knows. It counts as one that was refused, so
    /// that nobody who has none makes many commands.
    private func device(_ text: Substring, _ origin: String) throws(Problem) -> DeviceCredential {
        let now = surroundings.now()
        let credential = DeviceCredential(text)
        guard let credential, surroundings.knows(credential) else {
            guard refusals.withLock({ $0.isBelow(origin, at: now) }) else {
                throw Self.tooMany("too many credentials from this address were refused within a minute")
            }
            refusals.withLock { $0.count(origin, at: now) }
            guard let credential else {
                throw Problem(
                    .badCredential, "the credential cannot be read; allowed are a device's id, a colon and its secret")
            }
            return credential
        }
        guard takes("device \(credential.device)", at: now) else {
            throw Self.tooMany("the device has sent too many requests within a minute")
        }
        return credential
    }

    /// Whether somebody may send another request within the minute.
    private func takes(_ name: String, at now: WallTime) -> Bool {
        requests.withLock { requests in
            let isBelow = requests.isBelow(name, at: now)
            if isBelow { requests.count(name, at: now) }
            return isBelow
        }
    }

    private static func tooMany(_ detail: String) -> Problem { Problem(tooMany: detail, retryAfter: 60) }

    private func key(of head: IncomingRequest, for operation: APIOperation) throws(Problem) -> KeyEntry {
        let now = surroundings.now()
        let ring = ring.withLock { $0 }
        let entry: KeyEntry
        do throws(KeyRefusal) {
            entry = try ring.entry(head.header("authorization"), environment, at: now)
        } catch {
            throw Problem(error.code, error.code.advice)
        }
        guard operation.scopes.contains(where: entry.scopes.contains) else {
            let scopes = operation.scopes.map(\.rawValue).joined(separator: " or ")
            throw Problem(.scope, "the key does not have the scope; needed is \(scopes)")
        }
        return entry
    }

    /// - Returns: the headers that tell the client how much is left.
    private func take(_ key: KeyEntry) throws(Problem) -> [(name: String, value: String)] {
        let now = surroundings.now().milliseconds
        let rate = key.rate ?? rate
        let (isTaken, bucket) = buckets.withLock { buckets in
            var bucket = buckets[key.id] ?? KeyTokenBucket(rate: rate)
            if bucket.rate != rate { bucket = KeyTokenBucket(rate: rate) }
            let isTaken = bucket.take(at: now)
            buckets[key.id] = bucket
            return (isTaken, bucket)
        }
        let headers = bucket.headers(isRefused: !isTaken, chance: isTaken ? 0 : surroundings.chance())
        guard !isTaken else { return headers }
        var problem = Problem(.quotaExceeded, "the key has sent too many requests; allowed are \(rate) a second")
        problem.headers = headers
        throw problem
    }
}
