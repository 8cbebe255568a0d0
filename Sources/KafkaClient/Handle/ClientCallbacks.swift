import CRDKafka

/// What librdkafka's callbacks write to. It outlives the handle.
///
/// Only `sink`, `sent` and `appended` are used on librdkafka's threads; the rest is written on the owner's thread,
/// inside its call of `rd_kafka_poll`, `flush` or `abort`.
final class ClientCallbacks {
    let sink: ClientLog.Sink
    let sent = SentRequests()
    let appended = AppendTime()
    /// For error messages whose advice depends on it.
    var saslMechanism: String?
    /// Records that failed permanently since they were last taken.
    var failures: [DeliveryFailure] = []
    /// What became of each record since they were last taken; nil: only failures are reported.
    var reports: [DeliveryReport]?
    /// Codes and texts of the errors that no call caused; beyond ``maxErrors`` the oldest are dropped.
    var errors: [(code: rd_kafka_resp_err_t, text: String)] = []
    /// The latest reason why no broker could be reached, and when it was reported.
    private(set) var cause: (error: KafkaError, heard: ContinuousClock.Instant)?

    static let maxErrors = 100
    static let maxFailures = 10_000

    init(sink: @escaping ClientLog.Sink) {
        self.sink = sink
    }

    /// Remembers why no broker can be reached, which the call that times out does not say; not where a recent reason says
    /// more: a connection that is closed may be one whose login is refused.
    func noteCause(_ error: KafkaError) {
        guard let failure = error.kind.traits.connection else { return }
        if let known = recentCause?.kind.traits.connection, known.rawValue > failure.rawValue { return }
        cause = (error, .now)
    }

    var recentCause: KafkaError? {
        guard let cause, cause.heard.duration(to: .now) < .seconds(10) else { return nil }
        return cause.error
    }

    static func of(_ opaque: UnsafeMutableRawPointer?) -> ClientCallbacks? {
        opaque.map { Unmanaged<ClientCallbacks>.fromOpaque($0).takeUnretainedValue() }
    }
}

// Free functions: a closure written in an actor-isolated context would inherit the isolation and trap on librdkafka's
// threads.

func logReceived(
    _ client: OpaquePointer?, _ level: Int32, _ facility: UnsafePointer<CChar>?, _ message: UnsafePointer<CChar>?
) {
    guard let client, let callbacks = ClientCallbacks.of(rd_kafka_opaque(client)) else { return }
    callbacks.sink(
        ClientLog(
            level: ClientLog.Level(syslog: level), facility: facility.map { String(cString: $0) } ?? "",
            client: String(cString: rd_kafka_name(client)), message: message.map { String(cString: $0) } ?? ""))
}

func deliveryReported(
    _ client: OpaquePointer?, _ message: UnsafePointer<rd_kafka_message_t>?, _ opaque: UnsafeMutableRawPointer?
) {
    guard let message else { return }
    if let callbacks = ClientCallbacks.of(opaque), callbacks.reports != nil {
        callbacks.reports?.append(DeliveryReport(message))
        return
    }
    guard message.pointee.err != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
    let error = KafkaError(message.pointee.err, of: .producer, operation: "produce", partition: message.partition)
    if error.kind == .purged { return }
    guard let callbacks = ClientCallbacks.of(opaque), callbacks.failures.count < ClientCallbacks.maxFailures else {
        return
    }
    callbacks.failures.append(DeliveryFailure(tag: UInt64(UInt(bitPattern: message.pointee._private)), error: error))
}

func errorRaised(
    _ client: OpaquePointer?, _ code: Int32, _ text: UnsafePointer<CChar>?, _ opaque: UnsafeMutableRawPointer?
) {
    guard let callbacks = ClientCallbacks.of(opaque) else { return }
    if callbacks.errors.count == ClientCallbacks.maxErrors { callbacks.errors.removeFirst() }
    let code = rd_kafka_resp_err_t(rawValue: code)
    let text = text.map { String(cString: $0) } ?? ""
    callbacks.errors.append((code, text))
    callbacks.noteCause(KafkaError(code, text, saslMechanism: callbacks.saslMechanism))
}

extension UnsafePointer<rd_kafka_message_t> {
    var partition: TopicPartition? {
        guard let topic = pointee.rkt, let name = rd_kafka_topic_name(topic) else { return nil }
        return TopicPartition(topic: String(cString: name), partition: pointee.partition)
    }
}

extension ClientLog.Level {
    init(syslog level: Int32) {
        switch level {
        case ...2: self = .critical
        case 3: self = .error
        case 4: self = .warning
        case 5: self = .notice
        case 6: self = .info
        default: self = .debug
        }
    }
}
