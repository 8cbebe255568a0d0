extension Consumer {
    /// Asks the cluster. An error that came by itself, such as a refused login, says more than a call that timed out.
    package mutating func explaining<Answer>(
        _ question: (borrowing Consumer) throws(KafkaError) -> Answer
    ) throws(KafkaError) -> Answer {
        do {
            return try question(self)
        } catch {
            throw cause(of: error)
        }
    }

    private mutating func cause(of error: KafkaError) -> KafkaError {
        var cause = error
        guard error.kind == .timedOut || error.kind == .transport else { return cause }
        while let event = nextEvent(timeout: .zero) {
            guard case .error(let complaint) = event else { continue }
            switch complaint.kind.connectionFailure {
            case .refused: return complaint
            case .broken: cause = complaint
            case .noBroker, nil: continue
            }
        }
        return cause
    }
}
