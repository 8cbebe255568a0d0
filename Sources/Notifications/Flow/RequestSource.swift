/// The source of notifications that reads requests: the extraction with the ids that were seen before.
///
/// What it has extracted is provisional until it is committed.
package struct RequestSource: ~Copyable {
    var extractor: RequestExtractor
    /// The ids of the owned partitions, up to the last record that was extracted.
    package var states = RequestStates()

    /// - Parameter findings: gets everything that is wrong with the request that is read; nil: its first problem is enough.
    init(rules: RequestRules, findings: RequestFindings?) {
        extractor = RequestExtractor(rules: rules, findings: findings)
    }

    mutating func extract(_ record: Int, in batch: inout EventBatch) -> ExtractionOutcome {
        states.begin(batch.records[record])
        return extractor.extract(record, in: &batch, history: &states)
    }

    /// The irregularities of the requests that were extracted since the last call.
    mutating func takeNotes() -> RequestNotes {
        defer {
            extractor.notes = RequestNotes()
            states.forgotten = 0
        }
        var notes = extractor.notes
        notes.forgotten = states.forgotten
        return notes
    }
}
