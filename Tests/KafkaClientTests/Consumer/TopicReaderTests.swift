import Foundation
import Testing

@testable import KafkaClient

@Suite("Reading a topic to an end", .timeLimit(.minutes(30)))
struct TopicReaderTests {
    private let partition = TopicPartition(topic: "t", partition: 0)

    /// A cluster with a topic of one partition that holds `count` records.
    private func makeCluster(records count: Int) throws -> MockCluster {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        var producer = try Producer(settings: .mock(cluster))
        let topic = try producer.topic("t")
        for number in 0..<count {
            try producer.produce(ProducerRecord(key: nil, value: [UInt8(number & 0xff)]), to: topic)
        }
        try producer.flush(timeout: .seconds(10))
        return cluster
    }

    private func read(
        from start: Int64, to end: Int64, of cluster: MockCluster, settings: Settings = [:],
        take: (borrowing RecordBatch) throws -> Void = { _ in }
    ) throws {
        var consumer = try Consumer(assigning: .mock(cluster).merging(settings) { $1 })
        try TopicReader.read(
            from: [partition: Offset(start)], to: [partition: Offset(end)], with: &consumer, patience: .seconds(1),
            take: take)
    }

    @Test("a read that waits for records that never arrive can be ended")
    func endOfReading() throws {
        struct Stop: Error {}
        let cluster = try makeCluster(records: 0)
        #expect(throws: Stop.self) {
            try read(from: 0, to: 1, of: cluster) { records in
                if records.isEmpty { throw Stop() }
            }
        }
    }

    @Test("a log that ends before the requested end is an error, after the records that it holds")
    func cutAtTheEnd() throws {
        let cluster = try makeCluster(records: 3)
        var offsets: [Int64] = []
        let error = #expect(throws: KafkaError.self) {
            try read(from: 0, to: 10, of: cluster) { records in
                offsets += (0..<records.count).map { records[$0].offset }
            }
        }
        #expect(offsets == [0, 1, 2])
        #expect(error?.kind == .offsetOutOfRange)
        #expect(error?.recovery == .giveUp)
        #expect(error?.partition == partition)
        #expect(error?.message.contains("ends at offset 3") == true, "\(String(describing: error))")
    }

    @Test("records below the position are an error at once: it is another log")
    func anotherLog() throws {
        let cluster = try makeCluster(records: 3)
        var count = 0
        let error = #expect(throws: KafkaError.self) {
            try read(from: 5, to: 10, of: cluster, settings: ["auto.offset.reset": "earliest"]) { records in
                count += records.count
            }
        }
        #expect(count == 0)
        #expect(error?.kind == .offsetOutOfRange)
        #expect(error?.message.contains("expected offset 5") == true, "\(String(describing: error))")
    }

    @Test("unreachable brokers are an error once nothing has arrived for six times the patience")
    func brokersAway() throws {
        let cluster = try makeCluster(records: 3)
        try cluster.setBrokerDown(1)
        let began = ContinuousClock.now
        let error = #expect(throws: KafkaError.self) { try read(from: 0, to: 3, of: cluster) }
        #expect(ContinuousClock.now - began >= .seconds(6))
        #expect(error?.recovery == .retry, "\(String(describing: error))")
    }
}

@Suite(
    "Reading a topic to an end, on a real broker", .enabled(if: RealBroker.isThere, RealBroker.comment),
    .timeLimit(.minutes(30)))
struct TopicReaderBrokerTests {
    private static let kafka = ProcessInfo.processInfo.environment["KAFKA_HOME"]

    /// Deletes the records below an offset, as retention does, by Kafka's own command.
    private func deleteRecords(below offset: Int, of partition: TopicPartition) throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(partition.topic).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let what = """
            {"partitions":[{"topic":"\(partition.topic)","partition":\(partition.partition),"offset":\(offset)}],"version":1}
            """
        try Data(what.utf8).write(to: file)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "\(Self.kafka ?? "")/bin/kafka-delete-records.sh")
        process.arguments = [
            "--bootstrap-server", RealBroker.bootstrapServers ?? "", "--offset-json-file", file.path,
        ]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }

    @Test(
        "records that are deleted during the read are skipped, and the read ends",
        .enabled(if: kafka != nil, "needs KAFKA_HOME"))
    func deletedRecords() throws {
        let topic = try RealBroker.topic("cut")
        let partition = TopicPartition(topic: topic, partition: 0)
        // Many batches, and a consumer that fetches one at a time: most are still on the broker when they are deleted.
        let count = 100
        try RealBroker.write(Array(repeating: String(repeating: "x", count: 50_000), count: count), to: topic)
        let settings = ["fetch.message.max.bytes": "1000", "queued.min.messages": "1"]
        var consumer = try Consumer(assigning: RealBroker.settings.merging(settings) { $1 })
        var offsets: [Int64] = []
        try TopicReader.read(from: [partition: Offset(0)], to: [partition: Offset(100)], with: &consumer) { records in
            if offsets.isEmpty, !records.isEmpty { try deleteRecords(below: count, of: partition) }
            offsets += (0..<records.count).map { records[$0].offset }
        }
        #expect(offsets.count < count)
        #expect(offsets == Array(0..<Int64(offsets.count)))
    }

    @Test("a topic that was recreated with fewer records than requested is an error", arguments: [0, 50])
    func createdAgain(start: Int64) throws {
        let topic = try RealBroker.topic("again")
        let partition = TopicPartition(topic: topic, partition: 0)
        try RealBroker.write(["a", "b"], to: topic)
        var consumer = try Consumer(assigning: RealBroker.settings)
        let error = #expect(throws: KafkaError.self) {
            try TopicReader.read(
                from: [partition: Offset(start)], to: [partition: Offset(100)], with: &consumer, patience: .seconds(1)
            ) { _ in }
        }
        #expect(error?.kind == .offsetOutOfRange, "\(String(describing: error))")
    }
}
