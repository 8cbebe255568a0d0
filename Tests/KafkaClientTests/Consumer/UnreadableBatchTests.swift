import Synchronization
import Testing

@testable import KafkaClient

@Suite("A batch that cannot be decompressed", .timeLimit(.minutes(30)))
struct UnreadableBatchTests {
    private let partition = TopicPartition(topic: "t", partition: 0)

    /// More than a reader with the settings below can decompress.
    private static let bomb = [UInt8](repeating: UInt8(ascii: "a"), count: 900_000)

    @Test(
        "is passed: one record stands for all of it, and every record before and behind it is read",
        arguments: [1, 2, 3, 4, 7, 16, 17])
    func passed(count: Int) throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        try Self.write(["one", "two"], to: cluster)
        try Self.writeBomb(records: count, to: cluster)
        try Self.write(["three", "four", "five"], to: cluster)

        let lines = LogLines()
        var consumer = try Consumer(assigning: Self.settings(cluster), logger: lines.sink)
        try consumer.assign([partition: Offset(0)])
        let read = try consumer.readToEnd(of: partition, Offset(Int64(count) + 5))
        let last = Int64(count) + 1
        #expect(read.unreadable.map(\.offsets) == [2...last])
        #expect(read.records.map(\.offset.value) == [0, 1, last, last + 1, last + 2, last + 3])
        #expect(read.records.map { $0.value.text } == ["one", "two", nil, "three", "four", "five"])
        #expect(read.records[2].key == nil && read.records[2].timestamp == nil && read.records[2].headers.isEmpty)
        #expect(read.errors.isEmpty)
        let said = lines.all.filter { $0.facility == UnreadableBatch.facility }.map(\.message)
        #expect(said.count == 1 && said[0].hasPrefix("t/0: offsets 2 to \(last) cannot be read and are passed: "))
    }

    @Test("several behind one another are each passed, and the last one may end the log")
    func several() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        for count in [3, 5, 4] { try Self.writeBomb(records: count, to: cluster) }
        var consumer = try Consumer(assigning: Self.settings(cluster))
        try consumer.assign([partition: Offset(0)])
        let read = try consumer.readToEnd(of: partition, Offset(12))
        #expect(read.unreadable.map(\.offsets) == [0...2, 3...7, 8...11])
        #expect(read.records.map(\.offset.value) == [2, 7, 11])
    }

    @Test("one that somebody decided to pass is passed wherever reading begins at it, by an assignment and by a seek")
    func decided() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        try Self.write(["one", "two", "three", "four"], to: cluster)
        var consumer = try Consumer(assigning: .mock(cluster))
        consumer.passes = [partition: [1...2]]
        try consumer.assign([partition: Offset(1)])
        let read = try consumer.readToEnd(of: partition, Offset(4))
        #expect(read.unreadable.map(\.offsets) == [1...2])
        #expect(read.records.map(\.offset.value) == [2, 3])
        #expect(read.records.map { $0.value.text } == [nil, "four"])
        try consumer.seek(to: [partition: Offset(1)], timeout: .seconds(10))
        #expect(try consumer.readToEnd(of: partition, Offset(4)).records.map(\.offset.value) == [2, 3])
        try consumer.seek(to: [partition: Offset(0)], timeout: .seconds(10))
        let all = try consumer.readToEnd(of: partition, Offset(4))
        #expect(all.records.map { $0.value.text } == ["one", "two", "three", "four"])
    }

    @Test("is named while its end is searched")
    func named() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        try Self.writeBomb(records: 2, to: cluster)
        var consumer = try Consumer(assigning: Self.settings(cluster))
        let said = Mutex<[RecordPosition?]>([])
        consumer.onPassing = { position in said.withLock { $0.append(position) } }
        try consumer.assign([partition: Offset(0)])
        _ = try consumer.readToEnd(of: partition, Offset(2))
        #expect(said.withLock { $0 } == [RecordPosition(partition, 0), nil])
    }

    @Test("TopicReader reaches the end behind it")
    func topicReader() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        try Self.write(["one"], to: cluster)
        try Self.writeBomb(records: 3, to: cluster)
        var offsets: [Int64] = []
        var consumer = try Consumer(assigning: Self.settings(cluster))
        try TopicReader.read([0: 0..<4], of: "t", with: &consumer) { batch, indices in
            offsets += indices.map { batch[$0].offset }
        }
        #expect(offsets == [0, 3])
    }

    private static func settings(_ cluster: MockCluster) -> Settings {
        Settings.mock(cluster).merging(
            ["receive.message.max.bytes": "600000", "fetch.max.bytes": "500000", "message.max.bytes": "400000"]) { $1 }
    }

    private static func write(_ values: [String], to cluster: MockCluster) throws {
        var producer = try Producer(settings: .mock(cluster))
        let topic = try producer.topic("t")
        for value in values {
            try producer.produce(ProducerRecord(key: nil, value: value.bytes, partition: 0), to: topic)
        }
        try producer.flush(timeout: .seconds(20))
    }

    /// Writes one batch of so many records.
    private static func writeBomb(records: Int, to cluster: MockCluster) throws {
        let settings = [
            "compression.type": "zstd", "message.max.bytes": "100000000", "batch.size": "100000000", "linger.ms": "500",
        ]
        var producer = try Producer(settings: .mock(cluster).merging(settings) { $1 })
        let topic = try producer.topic("t")
        for _ in 0..<records {
            try producer.produce(ProducerRecord(key: nil, value: bomb, partition: 0), to: topic)
        }
        try producer.flush(timeout: .seconds(20))
        #expect(producer.takeFailures().isEmpty)
    }
}

extension Consumer {
    /// Everything up to the end of a partition.
    fileprivate mutating func readToEnd(of partition: TopicPartition, _ end: Offset) throws -> ConsumerRead {
        var all = ConsumerRead()
        let deadline = ContinuousClock.now + .seconds(30)
        while .now < deadline {
            let read = read(limit: 100, timeout: .milliseconds(100))
            all.records += read.records
            all.unreadable += read.unreadable
            all.errors += read.errors
            if let reached = read.endsOfPartition[partition], reached >= end { return all }
        }
        throw KafkaError(kind: .timedOut, recovery: .giveUp, name: "", message: "the end of \(partition)")
    }
}
