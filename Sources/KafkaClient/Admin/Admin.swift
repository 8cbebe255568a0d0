import CRDKafka

/// Describes topics, groups and the cluster, and creates topics. One thread owns it; every call blocks for up to its
/// timeout.
public struct Admin: ~Copyable {
    let handle: ClientHandle

    public init(settings: Settings, logger sink: @escaping ClientLog.Sink = { _ in }) throws(KafkaError) {
        let merged = try ClientSettings.merged(
            fixed: [:], user: settings, defaults: ["client.id": "carillon"], for: .producer)
        handle = try ClientHandle(.admin, settings: merged, callbacks: ClientCallbacks(sink: sink))
    }

    public consuming func close() {}

    /// The errors since the last call that kept the client from its brokers: `.authentication`, `.tls`,
    /// `.allBrokersDown`. They explain a call that timed out.
    public mutating func takeErrors() -> [KafkaError] {
        rd_kafka_poll(handle.pointer, 0)
        defer { handle.callbacks.errors.removeAll() }
        return handle.callbacks.errors.map { handle.error($0.code, $0.text) }
    }

    /// Sends an administrative request and waits for its answer.
    ///
    /// - Parameters:
    ///   - validateOnly: the broker checks the request and changes nothing; only for requests that support it.
    ///   - send: receives the options and the queue for the answer.
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
        // The request times out by itself; the extra second is for its answer.
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

/// The answer to a request. What is read from it is valid as long as the answer lives.
struct AdminAnswer: ~Copyable {
    let event: OpaquePointer

    init(owning event: OpaquePointer) {
        self.event = event
    }

    deinit {
        rd_kafka_event_destroy(event)
    }
}
