import JSONReader
import Pipeline

/// Whether the pipeline would send a request now. One owner.
struct RequestCheck: ~Copyable {
    private var trial: RequestTrial
    private var reader = JSONReader()

    init(_ configuration: PipelineConfiguration) throws(SubscriptionTableError) {
        trial = try RequestTrial(configuration)
    }

    /// Reads the body of a request and checks what its record would be.
    ///
    /// - Parameters:
    ///   - name: see ``RequestBody/init(_:name:newID:_:)``.
    ///   - now: the record's time, and the clock of the transaction.
    mutating func read(
        _ bytes: [UInt8], name: String?, newID: () -> String, now: WallTime
    ) throws(Problem) -> (RequestBody, RequestTrial.Verdict) {
        let body = try RequestBody(bytes, name: name, newID: newID, &reader)
        guard let verdict = try? trial.verdict(body.value, now: now) else {
            throw Problem(.defect, "the request could not be checked")
        }
        if let letter = verdict.letter { throw Problem(letter) }
        guard verdict.suppression != .expired else {
            throw Problem(.badRequest, "the request has expired already: nobody would be notified")
        }
        return (body, verdict)
    }
}
