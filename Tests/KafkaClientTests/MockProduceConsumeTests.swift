import Testing

@testable import KafkaClient

@Suite("Producing and consuming on the mock cluster", .timeLimit(.minutes(30)))
struct MockProduceConsumeTests {
    @Test("key, headers and timestamp come back, and a tombstone is not an empty value")
    func roundTrip() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        var producer = try Producer(settings: .mock(cluster))
        let topic = try producer.topic("t")
        #expect(topic.partitionCount == 1)
        let records = [
            ProducerRecord(
                key: "k".bytes, value: "v".bytes,
                headers: [
                    RecordHeader("a", "1".bytes), RecordHeader("empty", []), RecordHeader("null", nil),
                    RecordHeader("a", "2".bytes),
                ],
                timestamp: WallTime(milliseconds: 1_700_000_000_123)),
            ProducerRecord(key: "tombstone".bytes, value: nil),
            ProducerRecord(key: "empty".bytes, value: []),
            ProducerRecord(key: nil, value: "no key".bytes),
            ProducerRecord(key: [], value: "empty key".bytes),
        ]
        for record in records { try producer.produce(record, to: topic) }
        try producer.flush(timeout: .seconds(10))
        #expect(producer.inFlight == 0)
        #expect(producer.takeFailures().isEmpty)

        var consumer = try Consumer(assigning: .mock(cluster))
        try consumer.assign([TopicPartition(topic: "t", partition: 0): Offset(0)])
        let read = try consumer.records(5)
        #expect(read.map(\.key) == records.map(\.key))
        #expect(read.map(\.value) == records.map(\.value))
        #expect(read.map(\.headers) == records.map(\.headers))
        #expect(read.map(\.offset.value) == [0, 1, 2, 3, 4])
        #expect(read[0].timestamp == WallTime(milliseconds: 1_700_000_000_123))
        #expect(read.allSatisfy { $0.topic == "t" })
        consumer.close()
    }

    @Test("a record lands in the partition that Java clients choose")
    func partitioner() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 7)
        var producer = try Producer(settings: .mock(cluster))
        let topic = try producer.topic("t")
        let keys = (0..<50).map { "key-\($0)" } + [""]
        for key in keys { try producer.produce(ProducerRecord(key: key.bytes, value: key.bytes), to: topic) }
        try producer.flush(timeout: .seconds(10))
        var consumer = try Consumer(assigning: .mock(cluster))
        try consumer.assign(
            Dictionary(uniqueKeysWithValues: (0..<7).map { (TopicPartition(topic: "t", partition: $0), Offset(0)) }))
        for record in try consumer.records(keys.count) {
            #expect(record.partition == Murmur2.partition(of: record.key ?? [], count: 7))
        }
    }

    @Test("a partition that does not exist is refused before librdkafka sees its headers")
    func unknownPartition() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 2)
        var producer = try Producer(settings: .mock(cluster))
        let topic = try producer.topic("t")
        let record = ProducerRecord(key: nil, value: [1], headers: [RecordHeader("a", [1])], partition: 2)
        let error = #expect(throws: KafkaError.self) { try producer.produce(record, to: topic) }
        #expect(error?.kind == .unknownTopicOrPartition)
    }

    @Test("a topic handle of another producer is refused")
    func foreignTopic() throws {
        let cluster = try MockCluster()
        var first = try Producer(settings: .mock(cluster))
        let topic = try first.topic("t")
        var second = try Producer(settings: .mock(cluster))
        let error = #expect(throws: KafkaError.self) {
            try second.produce(ProducerRecord(key: nil, value: [1]), to: topic)
        }
        #expect(error?.kind == .configuration)
    }

    @Test("a full queue is served until there is room")
    func fullQueue() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        var producer = try Producer(settings: .mock(cluster).merging(["queue.buffering.max.messages": "100"]) { $1 })
        let topic = try producer.topic("t")
        for number in 0..<2000 {
            try producer.produce(
                ProducerRecord(key: nil, value: [UInt8(number & 0xff)], headers: [RecordHeader("h", [1])]), to: topic)
        }
        try producer.flush(timeout: .seconds(10))
        var consumer = try Consumer(assigning: .mock(cluster))
        try consumer.assign([TopicPartition(topic: "t", partition: 0): Offset(0)])
        #expect(try consumer.records(2000).map(\.offset.value) == Array(0..<2000))
    }

    @Test("a record over message.max.bytes fails by itself, with its size named as the reason")
    func tooLarge() throws {
        let cluster = try MockCluster()
        var producer = try Producer(settings: .mock(cluster).merging(["message.max.bytes": "2000"]) { $1 })
        let topic = try producer.topic("t")
        let error = #expect(throws: KafkaError.self) {
            try producer.produce(
                ProducerRecord(key: nil, value: Array(repeating: 0, count: 5000), headers: [RecordHeader("a", [1])]),
                to: topic)
        }
        #expect(error?.kind == .messageTooLarge)
        #expect(error?.recovery == .giveUp)
    }

    @Test("a record that the broker refuses comes back with its tag")
    func failedTag() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        var producer = try Producer(settings: .mock(cluster))
        let topic = try producer.topic("t")
        try cluster.pushErrors(.produce, ["MSG_SIZE_TOO_LARGE"])
        try producer.produce(ProducerRecord(key: nil, value: [1]), to: topic, tag: 42)
        let failures = try eventually("a failure") { () -> [DeliveryFailure]? in
            producer.poll(timeout: .milliseconds(50))
            let failures = producer.takeFailures()
            return failures.isEmpty ? nil : failures
        }
        #expect(failures.map(\.tag) == [42])
        #expect(failures[0].error.kind == .messageTooLarge)
    }

    @Test("the end of a partition is reported with its offset")
    func endOfPartition() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        var consumer = try Consumer(assigning: .mock(cluster))
        let partition = TopicPartition(topic: "t", partition: 0)
        try consumer.assign([partition: Offset(0)])
        let ends = try eventually("an end") {
            let read = consumer.read(limit: 10, timeout: .milliseconds(100))
            return read.endsOfPartition.isEmpty ? nil : read.endsOfPartition
        }
        #expect(ends == [partition: Offset(0)])
    }

    @Test("a batch that outlives its consumer keeps its records, and frees the client when it is emptied")
    func batchOutlivesConsumer() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        var producer = try Producer(settings: .mock(cluster))
        let topic = try producer.topic("t")
        for number in 0..<10 { try producer.produce(ProducerRecord(key: nil, value: [UInt8(number)]), to: topic) }
        try producer.flush(timeout: .seconds(10))
        var batch = RecordBatch()
        var consumer = try Consumer(assigning: .mock(cluster))
        try consumer.assign([TopicPartition(topic: "t", partition: 0): Offset(0)])
        let deadline = ContinuousClock.now + .seconds(20)
        while batch.count < 10, .now < deadline { consumer.fill(&batch, limit: 10, timeout: .milliseconds(100)) }
        var start = ContinuousClock.now
        consumer.close()
        #expect(start.duration(to: .now) < .seconds(15))
        #expect((0..<batch.count).map { batch[$0].value?.first } == (0..<10).map { UInt8($0) })
        start = .now
        batch.removeAll()
        #expect(start.duration(to: .now) < .seconds(5))
    }

    @Test("docs/kafka.md 16: a lookup of offsets waits for leaders that are still being elected, but not forever")
    func electedLeaders() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        let partition = TopicPartition(topic: "t", partition: 0)
        let consumer = try Consumer(assigning: .mock(cluster))
        _ = try consumer.partitionCount(of: "t", timeout: .seconds(10))
        func lookUp(failures: Int) throws -> Duration {
            try cluster.pushErrors(.listOffsets, Array(repeating: "NOT_LEADER_FOR_PARTITION", count: failures))
            let start = ContinuousClock.now
            defer { withExtendedLifetime(cluster) {} }
            _ = try consumer.startOffsets([partition], timeout: .seconds(10))
            return ContinuousClock.now - start
        }
        #expect(try lookUp(failures: 4) >= .milliseconds(1_500))
        let error = #expect(throws: KafkaError.self) { try lookUp(failures: 5) }
        #expect(error?.recovery == .retry)
    }
}
