/// What was odd about events that were processed all the same: plain counts, which the owner reads and resets.
package struct ExtractionNotes: Equatable, Sendable {
    /// Events whose key is not their order id (design §4).
    package var keyMismatches = 0
    /// Dates such as `07/07/2025`, which count as absent (push-rules §5.2).
    package var ambiguousDates = 0
    /// Statuses that document 1 does not list, which pass (push-rules §5.3 row 7).
    package var unknownStatuses = 0
    /// Entries of ORDER_IDS_LISTED that are no id: blank, or neither a string, a number nor an order.
    package var ignoredOrderIDs = 0

    /// Events older than the one of their order that was applied before.
    package var outOfOrder = 0

    package init() {}
}
