/// Irregularities of requests that are not dead letters (docs/rules.md §8.8).
package struct RequestNotes: Equatable, Sendable {
    package var unknownTypes = 0
    package var missingKeys = 0
    package var quotedKeys = 0
    package var unlinked = 0
    package var overwrittenKeys = 0
    /// Requests whose `traceparent` does not go on (ADR 47).
    package var ignoredTraceparents = 0
    /// Ids that were forgotten because those of their partition were too many (ADR 73).
    package var forgotten = 0

    mutating func add(_ other: RequestNotes) {
        unknownTypes += other.unknownTypes
        missingKeys += other.missingKeys
        quotedKeys += other.quotedKeys
        unlinked += other.unlinked
        overwrittenKeys += other.overwrittenKeys
        ignoredTraceparents += other.ignoredTraceparents
        forgotten += other.forgotten
    }
}
