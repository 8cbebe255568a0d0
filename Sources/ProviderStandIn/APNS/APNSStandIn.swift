import Synchronization

/// APNs's endpoint for one team with one key (push-rules §2.1–§2.5).
package final class APNSStandIn: Sendable {
    package static let keyID = "KEYID123AB"
    package static let teamID = "TEAMID123A"
    /// Seconds after which a provider token is expired.
    private static let tokenLife: Int64 = 3_600

    private struct State {
        var faults = FaultTable()
        var outcomes: RecordKeeper
        /// Provider tokens whose signature was verified, and when they were issued.
        var verified: [String: Int64] = [:]
        var knownDevices: Set<String>?
        var connectionsProven: Set<UInt64> = []
        var streamsTooEarly = 0
        var age: Int64 = 0
    }

    package let key: StandInKey
    private let state: Mutex<State>

    /// - Parameter recordLimit: records that are kept; 0 keeps nothing by token, and only counts.
    package init(recordLimit: Int = 1_000_000) throws(StandInError) {
        key = try StandInKey(.p256)
        state = Mutex(State(outcomes: RecordKeeper(limit: recordLimit)))
    }

    package func url(_ server: StandInServer, token: String) -> String {
        "https://127.0.0.1:\(server.port)/3/device/\(token)"
    }

    /// The next so many requests for this token meet this fault; nil ends it.
    package func set(_ fault: StandInFault?, for token: String, times: Int = .max) {
        state.withLock { $0.faults.set(fault, for: token, times: times) }
    }

    /// Every request meets faults by these rates from now on; those of a device come first.
    package func setRates(_ rates: FaultRates, seed: UInt64) {
        state.withLock { $0.faults.dice = FaultDice(rates, seed: seed, since: UnixTime.milliseconds) }
    }

    /// From now on.
    package func observe(_ observer: @escaping StandInObserver) {
        state.withLock { $0.outcomes.observer = observer }
    }

    /// Only these tokens are of a device; nil for every one.
    package func setKnownDevices(_ tokens: Set<String>?) {
        state.withLock { $0.knownDevices = tokens }
    }

    /// Provider tokens count as so many seconds older than they are.
    package func ageTokens(by seconds: Int64) {
        state.withLock { $0.age = seconds }
    }

    package var outcomes: StandInOutcomes { state.withLock { StandInOutcomes($0.outcomes) } }
    /// Requests that came beside another one on a connection before a provider token was accepted there.
    package var streamsTooEarly: Int { state.withLock { $0.streamsTooEarly } }

    package func answer(_ request: StandInRequest) -> StandInAnswer {
        state.withLock { state in
            if request.openStreams > 1, !state.connectionsProven.contains(request.connection) {
                state.streamsTooEarly += 1
            }
            let token = request.path.hasPrefix("/3/device/") ? String(request.path.dropFirst(10)) : ""
            let id = request[header: "apns-id"] ?? Self.makeID()
            var fault: StandInFault?
            var rejection = Self.rejectionOfPath(request, token) ?? rejectionOfToken(request, &state)
            if rejection == nil {
                state.connectionsProven.insert(request.connection)
                rejection = APNSRules.rejection(of: request, token)
                if rejection == nil, let known = state.knownDevices, !known.contains(token) {
                    rejection = APNSRejection(400, "BadDeviceToken")
                }
                if rejection == nil {
                    fault = state.faults.next(for: token)
                    rejection = fault.flatMap(APNSRejection.init)
                }
            }
            state.outcomes.add(
                token: token, status: rejection?.status ?? 200, reason: rejection?.reason, id: id,
                collapseID: request[header: "apns-collapse-id"], lifetime: request[header: "apns-expiration"],
                body: request.body, fault: fault)
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
