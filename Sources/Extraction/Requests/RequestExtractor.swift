import Events

/// Turns the bytes of a request into a notification, by docs/rules.md §8 to §10.
///
/// Pure: the same record gives the same bytes; time comes from the record. One owner, any thread. Allocates nothing per
/// request once its buffers fit the largest one.
package struct RequestExtractor: ~Copyable {
    /// The oddities since the owner last reset them.
    package var notes = RequestNotes()
    private let rules: RequestRules

    package init(rules: RequestRules) {
        self.rules = rules
    }

    /// Extracts `batch.records[record]` and appends its notification, what it says, its audiences and their text.
    ///
    /// Never throws and never traps, whatever the bytes. Unless it returns `.notifications`, the batch is unchanged.
    package mutating func extract(_ record: Int, in batch: inout EventBatch) -> ExtractionOutcome {
        .deadLetter(.nullValue)
    }
}
