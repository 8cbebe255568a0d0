import Foundation
import KafkaClient
import Testing

@testable import API

/// A writer on a thread of its own, on a cluster that is played.
final class PlayedWriter: Sendable {
    let writer = RecordWriter()
    private let ended = DispatchSemaphore(value: 0)

    init(_ cluster: MockCluster, topic: String, timeout: String = "30000") throws {
        let settings = [
            "bootstrap.servers": cluster.bootstrapServers, "linger.ms": "1", "delivery.timeout.ms": timeout,
            "request.timeout.ms": "1000", "reconnect.backoff.max.ms": "200",
        ]
        var producer = try Producer(settings: settings, reportsEach: true)
        _ = try producer.topic(topic)
        let handed = Handed(producer)
        Thread {
            handed.run(self.writer)
            self.ended.signal()
        }.start()
        while !writer.isOpen { sched_yield() }
    }

    /// Hands a producer to its thread.
    private final class Handed: @unchecked Sendable {
        private var producer: Producer

        init(_ producer: consuming Producer) {
            self.producer = producer
        }

        func run(_ writer: RecordWriter) {
            do { try writer.run(&producer) } catch { Issue.record(error) }
        }
    }

    /// Waits for what was given.
    func end() {
        writer.close()
        ended.wait()
    }
}
