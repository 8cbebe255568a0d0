import Time

/// FCM's access token: when it is asked for, used and given up.
///
/// One request for a token at a time. A token is refreshed after 80 % of its life, and used to its end meanwhile.
package struct AccessToken: Sendable {
    /// The milliseconds between two requests after a failure: doubled each time, up to the last.
    static let backoff: ClosedRange<Int64> = 1_000...60_000

    private var token: BearerToken?
    private var refreshAt = WallTime.distantPast
    private var expiresAt = WallTime.distantPast
    private var isAsking = false
    private var failures = 0

    /// The token to send with; nil while there is none.
    package func current(now: WallTime) -> BearerToken? { now < expiresAt ? token : nil }

    /// Whether to ask for a token now; true at most once until ``complete(_:now:)``.
    package mutating func begin(now: WallTime) -> Bool {
        guard !isAsking, now >= refreshAt else { return false }
        isAsking = true
        return true
    }

    /// What the token endpoint answered. A token that is still valid survives every failure.
    ///
    /// - Returns: the reason for which the credential pauses; nil if it does not.
    package mutating func complete(_ answer: AccessTokenAnswer, now: WallTime) -> String? {
        isAsking = false
        switch answer {
        case .token(let new, let life):
            token = new
            expiresAt = now + life
            refreshAt = now + life * 4 / 5
            failures = 0
            return nil
        case .refused(let reason):
            wait(now)
            return current(now: now) == nil ? reason : nil
        case .failed:
            wait(now)
            return nil
        }
    }

    /// The provider does not accept this token: it is not used again, and a new one is asked for.
    ///
    /// - Parameter refused: the one that was sent. Nothing happens if there is a newer one already.
    package mutating func refuse(_ refused: BearerToken) {
        guard token == refused else { return }
        token = nil
        expiresAt = .distantPast
        refreshAt = .distantPast
    }

    private mutating func wait(_ now: WallTime) {
        refreshAt = now + min(Self.backoff.lowerBound << min(failures, 20), Self.backoff.upperBound)
        failures += 1
    }
}
