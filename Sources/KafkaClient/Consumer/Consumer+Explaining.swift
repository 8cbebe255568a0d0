extension Consumer {
    /// Runs a query and, where it times out, throws what kept the client from its brokers, such as a refused login.
    ///
    /// Discards the other events of the control queue, so it is only for a consumer without a group.
    package mutating func explaining<Answer>(
        _ query: (borrowing Consumer) throws(KafkaError) -> Answer
    ) throws(KafkaError) -> Answer {
        do {
            return try query(self)
        } catch {
            throw cause(of: error)
        }
    }

    private mutating func cause(of error: KafkaError) -> KafkaError {
        var cause = error
        guard error.kind == .timedOut || error.kind == .transport else { return cause }
        while let event = nextEvent(timeout: .zero) {
            guard case .error(let reported) = event else { continue }
            switch reported.kind.traits.connection {
            case .refused: return reported
            case .broken: cause = reported
            case .noBroker, nil: continue
            }
        }
        return cause
    }
}
