/// The source of notifications that reads requests. A request has no state and no timer: each stands alone.
struct RequestSource: ~Copyable {
    private var extractor: RequestExtractor

    init(rules: RequestRules) {
        extractor = RequestExtractor(rules: rules)
    }

    /// Extracts the next record.
    mutating func extract(_ record: Int, in batch: inout EventBatch) -> ExtractionOutcome {
        extractor.extract(record, in: &batch)
    }

    /// The irregularities of the requests that were extracted since the last call.
    mutating func takeNotes() -> RequestNotes {
        defer { extractor.notes = RequestNotes() }
        return extractor.notes
    }
}
