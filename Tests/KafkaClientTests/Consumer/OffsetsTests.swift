import Testing

@testable import KafkaClient

@Suite("Offsets on a real broker", .enabled(if: RealBroker.isThere, RealBroker.comment), .timeLimit(.minutes(30)))
struct OffsetsTests {
    @Test(
        "docs/kafka.md 19: the end is the last stable offset while a transaction is open, and the high watermark is beyond it"
    )
    func openTransaction() throws {
        let name = try RealBroker.topic("lso")
        let partition = TopicPartition(topic: name, partition: 0)
        try RealBroker.write(["a", "b", "c"], to: name)
        var producer = try Producer(settings: RealBroker.settings, transactionalID: RealBroker.unique("id"))
        let topic = try producer.topic(name)
        try producer.initTransactions()
        try producer.beginTransaction()
        for value in ["d", "e"] { try producer.produce(ProducerRecord(key: nil, value: value.bytes), to: topic) }
        try producer.flush(timeout: .seconds(10))

        var consumer = try Consumer(assigning: RealBroker.settings)
        #expect(try consumer.endOffsets([partition], timeout: .seconds(10)) == [partition: Offset(3)])
        #expect(consumer.highWatermarks([partition]) == [:])
        try consumer.assign([partition: Offset(0)])
        #expect(try consumer.records(3).map(\.value.text) == ["a", "b", "c"])
        #expect(consumer.highWatermarks([partition]) == [partition: Offset(5)])
        try producer.commitTransaction()
        // Two records and a control record, which the broker writes after it has answered.
        _ = try eventually("the transaction's end") {
            let ends = try consumer.endOffsets([partition], timeout: .seconds(10))
            return ends == [partition: Offset(6)] ? ends : nil
        }
        #expect(try consumer.records(2).map(\.value.text) == ["d", "e"])
        let end = try eventually("the end") {
            consumer.read(limit: 1, timeout: .milliseconds(100)).endsOfPartition[partition]
        }
        #expect(end == Offset(6))
        #expect(try consumer.startOffsets([partition], timeout: .seconds(10)) == [partition: Offset(0)])
    }

    @Test("the offset of a time is the first at or after it, and the end if there is none")
    func times() throws {
        let name = try RealBroker.topic("times", partitions: 2)
        var producer = try Producer(settings: RealBroker.settings)
        let topic = try producer.topic(name)
        for milliseconds in [1000, 2000, 3000] as [Int64] {
            let record = ProducerRecord(
                key: nil, value: [1], partition: 0, timestamp: WallTime(milliseconds: 1_700_000_000_000 + milliseconds)
            )
            try producer.produce(record, to: topic)
        }
        try producer.flush(timeout: .seconds(10))
        let partitions = [0, 1].map { TopicPartition(topic: name, partition: $0) }
        let consumer = try Consumer(assigning: RealBroker.settings)
        func offsets(_ milliseconds: Int64) throws -> [Int64?] {
            let time = WallTime(milliseconds: 1_700_000_000_000 + milliseconds)
            let offsets = try consumer.offsets(at: time, of: partitions, timeout: .seconds(10))
            return partitions.map { offsets[$0]?.value }
        }
        #expect(try offsets(0) == [0, 0])
        #expect(try offsets(1500) == [1, 0])
        #expect(try offsets(3000) == [2, 0])
        #expect(try offsets(3001) == [3, 0])
    }

    @Test("an offset that the log does not have is an error of its partition, never a silent skip")
    func outOfRange() throws {
        let name = try RealBroker.topic("range")
        let partition = TopicPartition(topic: name, partition: 0)
        try RealBroker.write(["a"], to: name)
        var consumer = try Consumer(assigning: RealBroker.settings.merging(["auto.offset.reset": "error"]) { $1 })
        try consumer.assign([partition: Offset(100)])
        let error = try eventually("the error") {
            consumer.read(limit: 1, timeout: .milliseconds(100)).errors.first
        }
        #expect(error.kind == .offsetOutOfRange)
        #expect(error.partition == partition)
    }

    @Test("a plain commit of a group without members can be read back with its metadata, by itself and by name")
    func plainCommit() throws {
        let name = try RealBroker.topic("commit", partitions: 2)
        let group = RealBroker.unique("group")
        let partitions = [0, 1].map { TopicPartition(topic: name, partition: $0) }
        let position = CommittedOffset(offset: Offset(5), metadata: "v1 w=1")
        let consumer = try Consumer(assigning: RealBroker.settings, group: group)
        try consumer.commit([partitions[0]: position], timeout: .seconds(20))
        #expect(try consumer.committed(partitions, timeout: .seconds(10)) == [partitions[0]: position])
        let admin = try Admin(settings: RealBroker.settings)
        #expect(try admin.listCommitted(group: group, partitions: partitions) == [partitions[0]: position])
        #expect(try admin.listCommitted(group: group) == [partitions[0]: position])
    }

    @Test("seek returns to the committed offset and drops what was fetched before")
    func seek() throws {
        let name = try RealBroker.topic("seek")
        let partition = TopicPartition(topic: name, partition: 0)
        try RealBroker.write((0..<100).map(String.init), to: name)
        var consumer = try Consumer(assigning: RealBroker.settings)
        try consumer.assign([partition: Offset(0)])
        #expect(try consumer.records(50).last?.offset == Offset(49))
        try consumer.seek(to: [partition: Offset(10)], timeout: .seconds(10))
        #expect(try consumer.records(90).map(\.offset.value) == Array(10..<100))
    }

    @Test("a seek that times out has waited as long as it may: 1 ms and not 1 µs")
    func seekTimeout() throws {
        let name = try RealBroker.topic("seek-timeout")
        let partition = TopicPartition(topic: name, partition: 0)
        var consumer = try Consumer(assigning: RealBroker.settings)
        try consumer.assign([partition: Offset(0)])
        for _ in 0..<2_000 {
            let start = ContinuousClock.now
            do {
                try consumer.seek(to: [partition: Offset(0)], timeout: .milliseconds(1))
            } catch {
                #expect(.now - start >= .milliseconds(1), "\(error)")
            }
        }
    }
}
