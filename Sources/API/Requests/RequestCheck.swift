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
    ///   - name: see ``RequestBody/init(_:name:newID:_:_:)``.
    ///   - now: the record's time, and the clock of the transaction.
    /// - Throws: everything that is wrong with it.
    mutating func read(
        _ bytes: [UInt8], name: String?, newID: () -> String, now: WallTime
    ) throws(Problem) -> (RequestBody, RequestTrial.Verdict) {
        var faults: [Problem.Fault] = []
        let body = try RequestBody(bytes, name: name, newID: newID, &reader, &faults)
        guard let verdict = try? trial.verdict(body.value, now: now) else {
            throw Problem(.defect, "the request could not be checked")
        }
        faults += verdict.findings.map { Problem.Fault($0) }
        if let problem = Problem(faults) { throw problem }
        guard verdict.suppression != .expired else {
            throw Problem(.badRequest, "the request has expired already: nobody would be notified")
        }
        return (body, verdict)
    }
}
