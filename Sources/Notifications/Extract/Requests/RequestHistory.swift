/// Which request a record is, whatever its content: half of the SHA-256 of the record's key and of the request's own id.
struct RequestKey: Hashable, Sendable {
    var high: UInt64
    var low: UInt64
}

/// What the ids of a partition have to know of a request that can be sent.
package struct RequestSighting {
    let key: RequestKey
    /// Of the record; two requests with one id should have the same.
    let value: UnsafeRawBufferPointer
    let offset: Int64
    /// The record was put back from the dead letters: its id may be known, but nobody was notified.
    let isRedriven: Bool
}

/// The requests before, as far as the extraction needs them. They come in the order of the log, without dead letters.
package protocol RequestHistory: ~Copyable {
    /// Remembers a request.
    ///
    /// - Returns: why it is not to be sent.
    mutating func take(_ request: RequestSighting) -> SuppressionReason?
}

extension NoHistory: RequestHistory {
    package mutating func take(_ request: RequestSighting) -> SuppressionReason? { nil }
}
