import HTTPClient

/// A POST to a provider.
package struct ProviderRequest: Equatable, Sendable {
    package var url: String
    /// The names are in lower case.
    package var headers: [HTTPHeader]
    package var body: [UInt8]
}

/// Why a record cannot be sent: it is refused, and the next one is sent. The raw value is the reason in its outcome.
package enum MessageProblem: String, Error, CaseIterable, Sendable {
    /// The value is no message of its provider (docs/rules.md §7).
    case unreadableRecord = "unreadable_record"
    /// No credential has its app.
    case noCredential = "no_credential"
}
