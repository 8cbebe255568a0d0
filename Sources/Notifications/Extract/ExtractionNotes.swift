/// Counts of oddities in events that were processed nevertheless. The owner reads and resets them.
package struct ExtractionNotes: Equatable, Sendable {
    /// Events whose key is not their order id (docs/code.md §4).
    package var keyMismatches = 0
    /// Dates such as `07/07/2025`, which are treated as absent (docs/rules.md §5.2).
    package var ambiguousDates = 0
    /// Statuses that document 1 does not list, which are accepted (docs/rules.md §5.3 row 7).
    package var unknownStatuses = 0
    /// Entries of ORDER_IDS_LISTED that are not ids: blank, or neither a string, a number nor an order.
    package var ignoredOrderIDs = 0
    /// Audiences that were left out because an order does not have their id (docs/rules.md §5.4).
    package var missingAudiences = MissingAudiences()
    /// Events whose `traceparent` does not go on (ADR 47).
    package var ignoredTraceparents = 0

    /// Events older than the event of the same order that was applied last.
    package var outOfOrder = 0
}
