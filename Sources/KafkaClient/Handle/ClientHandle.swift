import CRDKafka

/// The only owner of an `rd_kafka_t`, which is destroyed last: whatever holds something that librdkafka would wait for
/// (a message, a queue) holds the handle too, so that `rd_kafka_destroy` never hangs.
///
/// One thread; only the log callback and the interceptors run on librdkafka's own.
final class ClientHandle {
    let pointer: OpaquePointer
    let callbacks: ClientCallbacks
    let settings: Settings
    let client: KafkaError.Client
    private let retainedCallbacks: Unmanaged<ClientCallbacks>

    /// - Parameter events: `RD_KAFKA_EVENT_…` that arrive on the queue instead of in a callback.
    init(
        _ client: KafkaError.Client, settings: Settings, callbacks: ClientCallbacks, events: Int32 = 0
    ) throws(KafkaError) {
        guard let configuration = rd_kafka_conf_new() else { throw .configuration("no memory for a configuration") }
        var error = [CChar](repeating: 0, count: 512)
        var problems: [String] = []
        for (name, value) in settings.sorted(by: { $0.key < $1.key })
        where rd_kafka_conf_set(configuration, name, value, &error, error.count) != RD_KAFKA_CONF_OK {
            problems.append(error.sentence)
        }
        guard problems.isEmpty else {
            rd_kafka_conf_destroy(configuration)
            throw .configuration(problems.joined(separator: "; "))
        }
        callbacks.saslMechanism = settings["sasl.mechanism"] ?? settings["sasl.mechanisms"]
        let retained = Unmanaged.passRetained(callbacks)
        rd_kafka_conf_set_opaque(configuration, retained.toOpaque())
        rd_kafka_conf_set_log_cb(configuration, logReceived)
        if settings["transactional.id"] != nil {
            callbacks.sent.watch(configuration)
        }
        if events != 0 { rd_kafka_conf_set_events(configuration, events) }
        if !client.isConsumer {
            callbacks.appended.watch(configuration)
            rd_kafka_conf_set_dr_msg_cb(configuration, deliveryReported)
            rd_kafka_conf_set_error_cb(configuration, errorRaised)
        }
        guard
            let pointer = rd_kafka_new(
                client.isConsumer ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER, configuration, &error, error.count)
        else {
            // librdkafka takes ownership of the configuration on success only.
            rd_kafka_conf_destroy(configuration)
            retained.release()
            throw .configuration(error.sentence)
        }
        self.pointer = pointer
        self.callbacks = callbacks
        self.client = client
        self.settings = settings
        retainedCallbacks = retained
    }

    deinit {
        // A consumer that leaves its group has been closed before. Without this flag, one with a fatal error would
        // block here.
        rd_kafka_destroy_flags(pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
        retainedCallbacks.release()
    }
}

extension ClientHandle {
    var fatalError: KafkaError? {
        var text = [CChar](repeating: 0, count: 512)
        let code = rd_kafka_fatal_error(pointer, &text, text.count)
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        var error = KafkaError(code, text.sentence, of: client, saslMechanism: callbacks.saslMechanism)
        error.isFatal = true
        error.recovery = error.kind == .fencedInstanceID ? .giveUp : .recreateClient
        return error
    }

    /// From a bare code; `_FATAL` stands for the fatal error that the client holds.
    func error(
        _ code: rd_kafka_resp_err_t, _ text: String = "", operation: String = "", partition: TopicPartition? = nil
    ) -> KafkaError {
        if code == RD_KAFKA_RESP_ERR__FATAL, var fatal = fatalError {
            fatal.operation = operation
            return fatal
        }
        let error = KafkaError(
            code, text, of: client, operation: operation, partition: partition, saslMechanism: callbacks.saslMechanism)
        return operation.isEmpty ? error : explained(error)
    }

    /// Adds to a call that timed out the kind and the message of what kept the client from its brokers, if that is
    /// known. The recovery stays the same.
    private func explained(_ error: KafkaError) -> KafkaError {
        guard error.kind == .timedOut || error.kind == .transport else { return error }
        // A producer's errors arrive in a callback, which needs a poll; a consumer's have arrived as events.
        if !client.isConsumer { rd_kafka_poll(pointer, 0) }
        guard let cause = callbacks.recentCause else { return error }
        var explained = error
        explained.kind = cause.kind
        explained.message = "\(error.message): \(cause.message)"
        return explained
    }

    /// From librdkafka's error object, which this frees. Checks in this order: fatal, abortable, retriable; anything
    /// else counts as fatal (docs/kafka.md 5).
    func error(consuming object: OpaquePointer, operation: String) -> KafkaError {
        defer { rd_kafka_error_destroy(object) }
        let code = rd_kafka_error_code(object)
        var error = self.error(code, String(cString: rd_kafka_error_string(object)), operation: operation)
        if rd_kafka_error_is_fatal(object) != 0 || error.isFatal {
            error.isFatal = true
            error.recovery = error.kind == .fencedInstanceID ? .giveUp : .recreateClient
        } else if rd_kafka_error_txn_requires_abort(object) != 0 {
            error.recovery = .abortTransaction
        } else if rd_kafka_error_is_retriable(object) != 0 {
            error.recovery = .retry
        } else {
            error.recovery = .recreateClient
        }
        return error
    }
}

extension [CChar] {
    /// The text up to the NUL.
    var sentence: String {
        String(decoding: prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
