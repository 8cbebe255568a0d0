extension Consumer {
    /// Runs a query and, where it times out, throws what kept the client from its brokers or its group, such as a refused login.
    ///
    /// Discards the other events of the control queue, so it is only for a consumer without a group.
    package mutating func explaining<Answer>(
        _ query: (borrowing Consumer) throws(KafkaError) -> Answer
    ) throws(KafkaError) -> Answer {
        do {
            return try query(self)
        } catch {
            guard error.kind == .timedOut || error.kind == .transport else { throw error }
            throw takeConnectionFailure() ?? error
        }
    }

    /// What has kept the client from its brokers or its group, if anything has since the last call. Discards the other events.
    package mutating func takeConnectionFailure() -> KafkaError? {
        var failure: KafkaError?
        while let event = nextEvent(timeout: .zero) {
            guard case .error(let reported) = event else { continue }
            // Of a group's coordinator nothing else is heard: whoever asks for offsets waits for it until the time is over.
            if reported.kind == .authorization { return reported }
            switch reported.kind.traits.connection {
            case .refused: return reported
            case .broken: failure = reported
            case .noBroker, nil: continue
            }
        }
        return failure
    }
}
