/// Turns the bytes of an order event into notifications, by the rules of document 1 as `push-rules.md` decides them.
///
/// Pure: the same record gives the same bytes; time comes from the record. One owner, any thread.
package struct Extractor: ~Copyable {
    private let rules: ExtractionRules
    /// Grows from event to event until the owner resets it.
    package var notes = ExtractionNotes()

    package init(rules: ExtractionRules) {
        self.rules = rules
    }

    /// Extracts `batch.records[record]` and appends its notifications and their text.
    ///
    /// Never throws and never traps, whatever the bytes. Unless it answers `.notifications`, the batch's notifications
    /// and text are as before.
    package mutating func extract(_ record: Int, in batch: inout EventBatch) -> ExtractionOutcome {
        guard batch.records[record].value != nil else {
            return .deadLetter(DeadLetter(.nullValue, "the record has no value"))
        }
        return .deadLetter(DeadLetter(.notAnEvent, "the record is not an order event"))
    }
}
