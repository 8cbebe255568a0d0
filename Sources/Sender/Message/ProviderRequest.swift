/// A POST to a provider.
package struct ProviderRequest: Equatable, Sendable {
    package struct Header: Equatable, Sendable {
        /// In lower case.
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package var url: String
    package var headers: [Header]
    package var body: [UInt8]
}

/// Why a record cannot be sent: it is refused, and the next one is sent. The raw value is the reason in its outcome.
package enum MessageProblem: String, Error, CaseIterable, Sendable {
    /// The value is no message of its provider (docs/rules.md §7).
    case unreadableRecord = "unreadable_record"
    /// No credential has its app.
    case noCredential = "no_credential"
}
