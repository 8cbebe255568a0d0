import Foundation
import KafkaClient
import Notifications
import Pipeline
import Testing

@testable import Replay

private let broker = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_SERVERS"] ?? ""

@Suite(
    "What sends again, on a real broker", .enabled(if: !broker.isEmpty, "needs a broker: set KAFKA_BOOTSTRAP_SERVERS"))
struct ResendProducerTests {
    private let topic = "test-resend-\(UUID().uuidString.prefix(8).lowercased())"

    init() throws {
        let small = NewTopic(
            name: topic, partitions: 1, replicationFactor: 1, configuration: ["max.message.bytes": "4000"])
        let admin = try Admin(settings: ["bootstrap.servers": broker])
        for case let error? in try admin.createTopics([small]).values { throw error }
        // The brokers learn of the topic a little later than the controller.
        let deadline = ContinuousClock.now + .seconds(20)
        while try admin.describe(topics: [topic]).isEmpty, .now < deadline {}
    }

    private func context(isStopped: @escaping @Sendable () -> Bool = { false }) throws -> ReplayContext {
        let configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": broker], stateDirectory: "", rules: try ExtractionRules(timeZone: "UTC"))
        return ReplayContext(
            configuration: configuration, scratch: try Scratch(), now: 0, logger: { _ in }, isStopped: isStopped)
    }

    private func producer(_ id: String) throws -> ResendProducer {
        var producer = try ResendProducer(id: id, to: [topic], context(), tell: { _ in })
        try producer.takeOver()
        return producer
    }

    private func record(_ value: String) -> ResendRecord {
        (topic, ProducerRecord(key: nil, value: Array(value.utf8), headers: [RecordHeader("a", [1])]))
    }

    /// The committed records: value and last header.
    private func written() throws -> [String] {
        var log = try KafkaLog(context())
        var found: [String] = []
        try log.read(log.settledBounds(of: topic, timeout: .seconds(30)), of: topic) { records, indices in
            for index in indices {
                let last = records.headers[records[index].headers].last
                #expect(last?.name.elementsEqual("replay".utf8) == true)
                found.append(
                    String(decoding: records[index].value ?? .init(start: nil, count: 0), as: UTF8.self) + " by "
                        + String(decoding: last?.value ?? .init(start: nil, count: 0), as: UTF8.self))
            }
        }
        return found
    }

    @Test("a second start of an id fences the first, which writes nothing more; another id does not")
    func fences() throws {
        // An id is the cluster's.
        let id = topic
        var first = try producer(id)
        #expect(try first.send([record("1"), record("2")]))
        var other = try producer("\(id)-other")
        #expect(try first.send([record("3")]))
        var second = try producer(id)
        #expect(throws: ResendTakenOver.self) { try first.send([record("4")]) }
        #expect(try second.send([record("5")]) && other.send([record("6")]))
        #expect(throws: ResendTakenOver.self) { try first.send([record("7")]) }
        #expect(try written() == ["1", "2", "3", "5"].map { "\($0) by \(id)" } + ["6 by \(id)-other"])
    }

    /// Ends another producer's open transaction when it is asked for the second time.
    private final class Other: @unchecked Sendable {
        private var producer: Producer
        private(set) var asked = 0

        init(_ topic: String) throws {
            var producer = try Producer(settings: ["bootstrap.servers": broker], transactionalID: "\(topic)-open")
            let handle = try producer.topic(topic)
            try producer.initTransactions()
            try producer.beginTransaction()
            let header = RecordHeader("replay", Array("open".utf8))
            try producer.produce(ProducerRecord(key: nil, value: Array("0".utf8), headers: [header]), to: handle)
            try producer.flush(timeout: .seconds(10))
            self.producer = producer
        }

        func isStopped() -> Bool {
            asked += 1
            if asked == 2 {
                do { try producer.commitTransaction() } catch { Issue.record(error) }
            }
            return false
        }
    }

    @Test("a start waits until nobody's open transaction hides what its id has written")
    func waits() throws {
        var first = try producer(topic)
        let other = try Other(topic)
        #expect(try first.send([record("1")]))
        var log = try KafkaLog(context())
        #expect(try log.bounds(of: topic)[0] == 0..<0)
        var second = try ResendProducer(
            id: topic, to: [topic], context(isStopped: { other.isStopped() }), tell: { _ in })
        try second.takeOver()
        #expect(try log.bounds(of: topic)[0]?.upperBound ?? 0 >= 2 && other.asked >= 2)
        #expect(try written() == ["0 by open", "1 by \(topic)"])
    }

    @Test("of a transaction with a record that the broker rejects nothing is written, and the next one is")
    func refuses() throws {
        var producer = try producer(topic)
        let large = (0..<9_000).map { _ in String(UInt8.random(in: 0 ... .max), radix: 16) }.joined()
        #expect(throws: RecordRefused.self) { try producer.send([record("1"), record(large)]) }
        // An abort does not always repair the client: then the next one is not written either, and is tried again.
        while try !producer.send([record("2")]) {}
        #expect(try written() == ["2 by \(topic)"])
    }
}
