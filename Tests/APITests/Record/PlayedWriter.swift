import Foundation
import KafkaClient
import Testing

@testable import API

/// A writer on a thread of its own, on a cluster that is played.
final class PlayedWriter: Sendable {
    let writer = RecordWriter()
    private let ended = DispatchSemaphore(value: 0)

    init(_ cluster: MockCluster, topic: String, timeout: Duration = .seconds(30)) throws {
        let settings = RecordWriter.settings(timeout).merging([
            "bootstrap.servers": cluster.bootstrapServers, "reconnect.backoff.max.ms": "200",
        ]) { $1 }
        var producer = try Producer(settings: settings, reportsEach: true)
        _ = try producer.topic(topic)
        let handed = Handed(producer)
        Thread {
            handed.run(self.writer, timeout)
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

        func run(_ writer: RecordWriter, _ time: Duration) {
            do { try writer.run(&producer, time) } catch { Issue.record(error) }
        }
    }

    /// Waits for what was given.
    func end() {
        writer.close()
        ended.wait()
    }
}
