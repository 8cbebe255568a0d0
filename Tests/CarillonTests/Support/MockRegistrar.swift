import Foundation
import JSONReader
import Pipeline
import StateStore
import Synchronization

@testable import KafkaClient
@testable import Registrar

/// A registrar on a mock cluster of its own: the real decisions, without transactions and subscriptions. It decides on a thread, so
/// that a test may wait for a command.
final class MockRegistrar: Sendable {
    let cluster: MockCluster
    private let isStopped = Atomic(false)
    private let hasEnded = DispatchSemaphore(value: 0)

    /// - Parameter decides: whether it runs; else commands are only recorded.
    init(decides: Bool = true) throws {
        cluster = try MockCluster()
        for topic in ["subscriptions", "devices", "people"] {
            try cluster.createTopic("notifications.\(topic)", partitions: 4)
        }
        for topic in ["commands", "verdicts"] { try cluster.createTopic("notifications.\(topic)", partitions: 1) }
        guard decides else {
            hasEnded.signal()
            return
        }
        Thread.detachNewThread {
            do { try self.decide() } catch { print("the mock registrar has ended: \(error)") }
            self.hasEnded.signal()
        }
    }

    var settings: Settings { ["bootstrap.servers": cluster.bootstrapServers] }

    /// Ends its thread.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        hasEnded.wait()
    }

    /// Runs `carillon` on its topics.
    func carillon(_ words: String..., input: String = "") throws -> CommandProcess {
        try CommandProcess.run(
            words + ["--set", "topic.commands=notifications.commands"], input: input,
            environment: ["KAFKA_BOOTSTRAP_SERVERS": cluster.bootstrapServers, "HOME": "/home/x"])
    }

    /// The values of the commands.
    func commands() throws -> [Command] {
        var found: [Command] = []
        var json = JSONReader()
        try TopicReader.readAll(
            "notifications.commands", settings: settings, logger: { _ in },
            take: { record, _ in if let command = Command(record.value ?? [], &json) { found.append(command) } })
        return found
    }

    /// Writes commands as a backend.
    func write(_ commands: Command...) throws {
        var producer = try Producer(settings: settings)
        let topic = try producer.topic("notifications.commands")
        for command in commands {
            try producer.produce(ProducerRecord(key: nil, value: command.json, partition: 0), to: topic)
        }
        try producer.flush(timeout: .seconds(30))
    }

    /// Waits until so many commands are decided.
    func waitForVerdicts(_ count: Int) throws {
        let deadline = ContinuousClock.now + .seconds(60)
        var found = 0
        while found < count, .now < deadline {
            found = 0
            try TopicReader.readAll(
                "notifications.verdicts", settings: settings, logger: { _ in }, take: { _, _ in found += 1 })
        }
    }

    private func decide() throws {
        let table = try RegistrarTable(MemoryStore())
        let core = RegistrarCore(table)
        var json = JSONReader()
        var consumer = try Consumer(assigning: settings, logger: { _ in })
        try consumer.assign([TopicPartition(topic: "notifications.commands", partition: 0): Offset(0)])
        var producer = try Producer(settings: settings)
        let devices = try producer.topic("notifications.devices")
        let people = try producer.topic("notifications.people")
        let verdicts = try producer.topic("notifications.verdicts")
        var batch = RecordBatch()
        while !isStopped.load(ordering: .relaxed) {
            batch.removeAll()
            consumer.fill(&batch, limit: 100, timeout: .milliseconds(100))
            for index in 0..<batch.count {
                let record = batch[index]
                let decision =
                    try Command(record.value.map { Array($0) } ?? [], &json).map {
                        try core.decide($0, at: record.offset, time: record.timestamp ?? .epoch)
                    } ?? Decision(.malformed)
                table.commit()
                for (id, state) in decision.devices {
                    try producer.produce(ProducerRecord(key: Array(id.text.utf8), value: state?.json), to: devices)
                }
                for (id, state) in decision.people {
                    try producer.produce(ProducerRecord(key: Array(id.text.utf8), value: state?.json), to: people)
                }
                // What the verdict says is to be seen before it.
                try producer.flush(timeout: .seconds(30))
                let verdict = decision.verdict.json(of: record.offset)
                try producer.produce(ProducerRecord(key: nil, value: verdict, partition: 0), to: verdicts)
            }
            try producer.flush(timeout: .seconds(30))
        }
    }
}
