import CRDKafka

/// Questions to the cluster about topics and groups, and creating topics. One thread owns it; every call blocks up to its timeout.
public struct Admin: ~Copyable {
    let handle: ClientHandle

    public init(settings: Settings, logger sink: @escaping ClientLog.Sink = { _ in }) throws(KafkaError) {
        let merged = try ClientSettings.merged(
            fixed: [:], user: settings, defaults: ["client.id": "carillon"], for: .producer)
        handle = try ClientHandle(RD_KAFKA_PRODUCER, settings: merged, callbacks: ClientCallbacks(sink: sink))
    }

    public consuming func close() {}

    /// What kept the client from its brokers since the last call: `.authentication`, `.tls`, `.allBrokersDown`. A call that times out does not say why; this does.
    public mutating func takeErrors() -> [KafkaError] {
        rd_kafka_poll(handle.pointer, 0)
        defer { handle.callbacks.errors.removeAll() }
        return handle.callbacks.errors.map { handle.error($0.code, $0.text) }
    }

    /// Sends an administrative request and waits for its answer.
    ///
    /// - Parameters:
    ///   - validateOnly: the broker checks and changes nothing; for requests that have it.
    ///   - send: gets the options and the queue for the answer.
    func request(
        _ operation: String, _ kind: rd_kafka_admin_op_t, timeout: Duration, validateOnly: Bool = false,
        _ send: (OpaquePointer, OpaquePointer) -> Void
    ) throws(KafkaError) -> AdminAnswer {
        guard let options = rd_kafka_AdminOptions_new(handle.pointer, kind),
            let queue = rd_kafka_queue_new(handle.pointer)
        else { throw .configuration("no memory for a request", operation: operation) }
        defer {
            rd_kafka_queue_destroy(queue)
            rd_kafka_AdminOptions_destroy(options)
        }
        var text = [CChar](repeating: 0, count: 512)
        let limit = timeout.milliseconds
        var code = rd_kafka_AdminOptions_set_request_timeout(options, max(limit, 1), &text, text.count)
        if code == RD_KAFKA_RESP_ERR_NO_ERROR, kind == RD_KAFKA_ADMIN_OP_CREATETOPICS {
            code = rd_kafka_AdminOptions_set_operation_timeout(options, max(limit, 1), &text, text.count)
        }
        if code == RD_KAFKA_RESP_ERR_NO_ERROR, validateOnly {
            code = rd_kafka_AdminOptions_set_validate_only(options, 1, &text, text.count)
        }
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw handle.error(code, text.sentence, operation: operation) }
        send(options, queue)
        // The request times out by itself; the margin is for its answer.
        guard let event = rd_kafka_queue_poll(queue, limit < .max - 1000 ? limit + 1000 : limit) else {
            throw handle.error(RD_KAFKA_RESP_ERR__TIMED_OUT, operation: operation)
        }
        let answer = AdminAnswer(owning: event)
        code = rd_kafka_event_error(event)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            let text = rd_kafka_event_error_string(event).map { String(cString: $0) } ?? ""
            throw handle.error(code, text, operation: operation)
        }
        return answer
    }
}

/// The answer to a request; what is read from it lives as long as it.
struct AdminAnswer: ~Copyable {
    let event: OpaquePointer

    init(owning event: OpaquePointer) {
        self.event = event
    }

    deinit {
        rd_kafka_event_destroy(event)
    }
}
