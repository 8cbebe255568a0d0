import Digests
import Synchronization

/// APNs's endpoint for one team with one key (push-rules §2.1–§2.5).
package final class APNSStandIn: Sendable {
    package static let keyID = "KEYID123AB"
    package static let teamID = "TEAMID123A"
    /// Seconds after which a provider token is expired.
    private static let tokenLife: Int64 = 3_600

    private struct State {
        var faults = FaultTable()
        var observer: StandInObserver?
        /// Provider tokens whose signature was verified, and when they were issued.
        var verified: [String: Int64] = [:]
        var age: Int64 = 0
    }

    package let key: StandInKey
    private let state: Mutex<State>

    package init() throws(StandInError) {
        key = try StandInKey(.p256)
        state = Mutex(State())
    }

    package func url(_ server: StandInServer, token: String) -> String {
        "https://127.0.0.1:\(server.port)/3/device/\(token)"
    }

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

    /// Provider tokens count as so many seconds older than they are.
    package func ageTokens(by seconds: Int64) {
        state.withLock { $0.age = seconds }
    }

    package func answer(_ request: StandInRequest) -> StandInAnswer {
        state.withLock { state in
            let token = request.path.hasPrefix("/3/device/") ? String(request.path.dropFirst(10)) : ""
            let id = request[header: "apns-id"] ?? Self.makeID()
            var fault: StandInFault?
            var rejection =
                Self.rejectionOfPath(request, token) ?? rejectionOfToken(request, &state)
                ?? APNSRules.rejection(of: request, token)
            if rejection == nil {
                fault = state.faults.next(for: token)
                rejection = fault.flatMap(APNSRejection.init)
            }
            state.observer?(
                StandInRecord(
                    tokenHash: SHA256.hex(of: token), status: rejection?.status ?? 200, reason: rejection?.reason,
                    id: id,
                    collapseID: request[header: "apns-collapse-id"], lifetime: request[header: "apns-expiration"],
                    body: request.body), fault)
            var answer = StandInAnswer(
                status: rejection?.status ?? 200, headers: [("apns-id", id)], body: rejection?.body ?? "")
            if let retryAfter = rejection?.retryAfter {
                answer.headers.append(("retry-after", retryAfter.headerValue))
            }
            answer.course = StandInAnswer.Course(fault)
            return answer
        }
    }

    private static func rejectionOfPath(_ request: StandInRequest, _ token: String) -> APNSRejection? {
        if request.method != "POST" { return APNSRejection(405, "MethodNotAllowed") }
        if !request.path.hasPrefix("/3/device/") { return APNSRejection(404, "BadPath") }
        return token.isEmpty ? APNSRejection(400, "MissingDeviceToken") : nil
    }

    private func rejectionOfToken(_ request: StandInRequest, _ state: inout State) -> APNSRejection? {
        guard let authorization = request[header: "authorization"], authorization.lowercased().hasPrefix("bearer ")
        else { return APNSRejection(403, "MissingProviderToken") }
        let text = String(authorization.dropFirst(7))
        if state.verified[text] == nil {
            guard let token = JSONWebToken(text), token.algorithm == "ES256", token.keyID == Self.keyID,
                token.texts["iss"] == Self.teamID, let issued = token.numbers["iat"],
                key.signed(token.signed.utf8, token.signature, es256: true)
            else { return APNSRejection(403, "InvalidProviderToken") }
            state.verified[text] = issued
        }
        let age = UnixTime.now - (state.verified[text] ?? 0) + state.age
        // A token from the future is not one that was issued.
        if age < -60 { return APNSRejection(403, "InvalidProviderToken") }
        return age > Self.tokenLife ? APNSRejection(403, "ExpiredProviderToken") : nil
    }

    /// A UUID in Apple's form.
    private static func makeID() -> String {
        let digits = Array("0123456789ABCDEF")
        return [8, 4, 4, 4, 12].map { count in
            String((0..<count).map { _ in digits[Int.random(in: 0..<16)] })
        }.joined(separator: "-")
    }
}
