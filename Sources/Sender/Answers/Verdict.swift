import Time

/// What an attempt means for its push, by the providers' own tables (docs/rules.md §11).
package enum Verdict: Equatable, Sendable {
    /// The provider took it; with its name of the message, if it said one.
    case accepted(providerID: String?)
    /// The token is no longer valid.
    case deadDevice(reason: String, Evidence)
    /// It would not be accepted later either.
    case refused(reason: String)
    /// To be sent again.
    ///
    /// - `counts`: whether it may have reached the provider: an attempt.
    /// - `after`: not before so many milliseconds, as the answer says; nil leaves the time to the ladder of retries.
    /// - `advised`: the same as the provider's documents say; a push that does not live so long is tried sooner.
    case retry(reason: String, counts: Bool, after: Int64?, advised: Int64 = 0)
    /// The credential's token has expired: to be sent again with a new one, once. Pauses the credential if that is of
    /// no use.
    case refreshCredential(reason: String)
    /// The provider does not accept the credential, whatever the message is.
    case pauseCredential(reason: String)
    /// The credential sends too much: to be sent again, as for `retry`.
    case slowDown(reason: String, after: Int64?, advised: Int64 = 0)

    /// The code of a failure; nil if it was accepted.
    package var reason: String? {
        switch self {
        case .accepted: nil
        case .deadDevice(let reason, _), .refused(let reason), .retry(let reason, _, _, _),
            .refreshCredential(let reason),
            .pauseCredential(let reason), .slowDown(let reason, _, _):
            reason
        }
    }

    /// Since when a token is known to be dead.
    package enum Evidence: Equatable, Sendable {
        /// Since the answer.
        case now
        /// Since a time that the provider says.
        case at(WallTime)
    }
}

/// How an attempt ended, as far as the provider's health is concerned.
package enum AnswerKind: Equatable, Sendable {
    case answered
    /// 429.
    case throttled
    /// 5xx, a time-out, or no connection.
    case failed

    package init(status: Int) {
        switch status {
        case 429: self = .throttled
        case 500...: self = .failed
        default: self = .answered
        }
    }
}

/// A provider's answer to one request.
package struct ProviderAnswer {
    package var status: Int
    package var body: UnsafeRawBufferPointer
    /// Of few headers, as text; nil if the answer does not have it. The names are in lower case.
    package var header: (StaticString) -> String?
}

/// Why there is no answer.
package enum AttemptFailure: Error, Equatable, Sendable {
    /// Whether the request may have reached the provider, and what is known of the cause.
    case noAnswer(mayHaveArrived: Bool, NoAnswer = .other)

    package var verdict: Verdict {
        switch self {
        case .noAnswer(let mayHaveArrived, let cause):
            .retry(reason: cause.rawValue, counts: mayHaveArrived, after: nil)
        }
    }
}
