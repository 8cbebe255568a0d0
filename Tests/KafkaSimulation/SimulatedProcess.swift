import KafkaClient

/// A process with one worker, as its clients see it.
///
/// `@unchecked Sendable`: only the thread with the baton touches it.
package final class SimulatedProcess: @unchecked Sendable {
    package let kafka: SimulatedKafka
    /// It was killed: none of its requests arrives any longer.
    package private(set) var isDead = false
    /// No request arrives, and no heartbeat, before.
    private(set) var cutUntil = Duration.zero
    /// It runs no instruction before.
    package private(set) var frozenUntil = Duration.zero
    /// The consumers of its members' ids.
    var members: Set<Int> = []

    package init(_ kafka: SimulatedKafka) { self.kafka = kafka }

    package func die() {
        isDead = true
        kafka.watch(self, from: kafka.baton.now)
    }

    package func cut(for time: Duration) {
        cutUntil = max(cutUntil, kafka.baton.now + time)
        kafka.watch(self, from: kafka.baton.now)
    }

    package func freeze(for time: Duration) {
        kafka.freezes.append(kafka.now..<kafka.now + time.wholeMilliseconds)
        frozenUntil = max(frozenUntil, kafka.baton.now + time)
        cut(for: time)
    }

    package var isAway: Bool { isDead || kafka.baton.now < cutUntil }

    /// Whatever the thread waits for in a call that asks no broker.
    package func pause(_ time: Duration) {
        if kafka.baton.isOne(of: kafka.faults.stop) { freeze(for: kafka.baton.milliseconds(500...5_000)) }
        kafka.baton.pause(time)
        while kafka.baton.now < frozenUntil { kafka.baton.pause(frozenUntil - kafka.baton.now) }
    }

    /// A request arrives, of a thread of the process.
    ///
    /// - Throws: where it does not within the deadline.
    package func request(
        _ operation: String, of client: KafkaError.Client, deadline: Duration
    ) throws(KafkaError) {
        let end = kafka.baton.now + deadline
        pause(kafka.baton.isOne(of: 40) ? kafka.baton.milliseconds(10...300) : kafka.baton.milliseconds(0...3))
        guard !isDead else { throw .failed(client, operation) }
        while kafka.baton.now < cutUntil {
            guard kafka.baton.now < end else { throw .unanswered(client, operation) }
            pause(min(cutUntil, end) - kafka.baton.now)
        }
    }
}

extension KafkaError {
    static func unanswered(_ client: Client, _ operation: String) -> KafkaError {
        KafkaError(
            kind: .timedOut, recovery: .retry, of: client, name: "_TIMED_OUT", message: "no answer",
            operation: operation)
    }

    static func failed(_ client: Client, _ operation: String) -> KafkaError {
        KafkaError(
            kind: .other, recovery: .recreateClient, isFatal: true, of: client, name: "_FATAL", message: "it failed",
            operation: operation)
    }

    static func fenced(_ operation: String) -> KafkaError {
        KafkaError(
            kind: .fenced, recovery: .recreateClient, isFatal: true, of: .producer, name: "_FENCED",
            message: "another producer has its id, or its transaction timed out", operation: operation)
    }

    static func mustAbort(_ operation: String, _ message: String) -> KafkaError {
        KafkaError(
            kind: .other, recovery: .abortTransaction, of: .producer, name: "ABORT", message: message,
            operation: operation)
    }

    static let deleted = KafkaError(
        kind: .offsetOutOfRange, recovery: .giveUp, of: .reader, name: "OFFSET_OUT_OF_RANGE",
        message: "retention has deleted it", operation: "read")

    static let fencedMember = KafkaError(
        kind: .fencedInstanceID, recovery: .giveUp, isFatal: true, of: .member, name: "FENCED_INSTANCE_ID",
        message: "another consumer has its instance id")
}
