import Testing

@testable import KafkaClient

@Suite(
    "Transactions on a real broker", .enabled(if: RealBroker.isThere, RealBroker.comment), .timeLimit(.minutes(30)))
struct TransactionTests {
    /// A consumer that has joined the group and is assigned the topic.
    private func joined(_ topic: String, group: String, instance: String? = nil) throws -> Consumer {
        var consumer = try Consumer(settings: RealBroker.settings, group: group, instance: instance)
        _ = try consumer.join([topic])
        return consumer
    }

    @Test("records, offsets and their metadata become visible together, at the commit")
    func commit() throws {
        let input = try RealBroker.topic("in")
        let output = try RealBroker.topic("out")
        let group = RealBroker.unique("group")
        let partition = TopicPartition(topic: input, partition: 0)
        try RealBroker.write(["a", "b"], to: input)
        let consumer = try joined(input, group: group)
        let metadata = try consumer.groupMetadata()
        #expect(try consumer.committed([partition], timeout: .seconds(10)) == [:])

        var producer = try Producer(settings: RealBroker.settings, transactionalID: RealBroker.unique("id"))
        let topic = try producer.topic(output)
        try producer.initTransactions()
        try producer.beginTransaction()
        try producer.produce(
            ProducerRecord(
                key: nil, value: "x".bytes, headers: [RecordHeader("h", "1".bytes), RecordHeader("n", nil)]),
            to: topic)
        let position = CommittedOffset(offset: Offset(2), metadata: "v1 w=1700000000000 n=1 t=1699999999999 ä")
        try producer.sendOffsets([partition: position], metadata)
        try producer.commitTransaction()
        #expect(try consumer.committed([partition], timeout: .seconds(10)) == [partition: position])
        #expect(try RealBroker.committedValues(of: output) == ["x"])

        var reader = try Consumer(assigning: RealBroker.settings)
        try reader.assign([TopicPartition(topic: output, partition: 0): Offset(0)])
        #expect(try reader.records(1)[0].headers == [RecordHeader("h", "1".bytes), RecordHeader("n", nil)])

        // The same offset with new metadata and no record, as for a tick that consumes nothing.
        let ticked = CommittedOffset(offset: Offset(2), metadata: "v1 w=1700000060000 n=1 t=1699999999999")
        try producer.beginTransaction()
        try producer.sendOffsets([partition: ticked], metadata)
        try producer.commitTransaction()
        #expect(try consumer.committed([partition], timeout: .seconds(10)) == [partition: ticked])
        consumer.close()
    }

    @Test("what lingers is delivered soon where that is asked for, before the commit (docs/kafka.md 24)")
    func deliverSoon() throws {
        let output = try RealBroker.topic("out")
        let settings = RealBroker.settings.merging(["linger.ms": "15000"]) { $1 }
        var producer = try Producer(settings: settings, transactionalID: RealBroker.unique("id"))
        let topic = try producer.topic(output)
        try producer.initTransactions()
        try producer.beginTransaction()
        try producer.produce(ProducerRecord(key: nil, value: "x".bytes), to: topic)
        // The partition has to be added to the transaction first.
        let end = ContinuousClock.now + .seconds(10)
        while producer.inFlight > 0, .now < end { producer.deliverSoon() }
        let left = producer.inFlight
        #expect(left == 0)
        try producer.commitTransaction()
        #expect(try RealBroker.committedValues(of: output) == ["x"])
    }

    @Test(
        "the append time of a record is known before its commit on a topic with LogAppendTime, and not on one with CreateTime"
    )
    func appendTime() throws {
        let timed = try RealBroker.topic("timed", configuration: ["message.timestamp.type": "LogAppendTime"])
        let untimed = try RealBroker.topic("untimed")
        var producer = try Producer(settings: RealBroker.settings, transactionalID: RealBroker.unique("id"))
        let (first, second) = (try producer.topic(timed), try producer.topic(untimed))
        try producer.initTransactions()
        try producer.beginTransaction()
        // The broker replaces this timestamp.
        let record = ProducerRecord(key: nil, value: "x".bytes, timestamp: WallTime(milliseconds: 1_000))
        try producer.produce(record, to: second, tag: Producer.timedTag)
        try producer.produce(record, to: first, tag: 7)
        try producer.flush(timeout: .seconds(20))
        let untold = producer.takeAppendTime()
        #expect(untold == nil)
        try producer.produce(record, to: first, tag: Producer.timedTag)
        try producer.flush(timeout: .seconds(20))
        let told = producer.takeAppendTime()
        let time = try #require(told)
        #expect(time.milliseconds > 1_700_000_000_000)
        let again = producer.takeAppendTime()
        #expect(again == nil)
        try producer.abortTransaction()
        var reader = try Consumer(
            assigning: ["isolation.level": "read_uncommitted"].merging(RealBroker.settings) { $1 })
        try reader.assign([TopicPartition(topic: timed, partition: 0): Offset(1)])
        #expect(try reader.records(1)[0].timestamp == time)
    }

    @Test("what the broker acknowledges late in a transaction is counted, in bytes; what it acknowledges early is not")
    func acknowledgedLate() throws {
        let output = try RealBroker.topic("out")
        let short = ["transaction.timeout.ms": "4000", "socket.timeout.ms": "4000", "linger.ms": "1"]
        let settings = RealBroker.settings.merging(short) { $1 }
        var producer = try Producer(settings: settings, transactionalID: RealBroker.unique("id"))
        let topic = try producer.topic(output)
        try producer.initTransactions()
        try producer.beginTransaction()
        let began = ContinuousClock.now
        var (early, late) = (0, 0)
        while ContinuousClock.now - began < .milliseconds(3_200) {
            let isEarly = ContinuousClock.now - began < .milliseconds(1_200)
            try producer.produce(ProducerRecord(key: "key".bytes, value: "12345".bytes), to: topic)
            try producer.flush(timeout: .seconds(4))
            if isEarly {
                early += 8
                let counted = producer.acknowledgedLate
                #expect(counted == 0 || ContinuousClock.now - began > .milliseconds(1_980))
            } else if ContinuousClock.now - began > .milliseconds(2_020) {
                late += 8
            }
        }
        let counted = producer.acknowledgedLate
        #expect(early > 0 && late > 0 && counted >= late - 8 && counted.isMultiple(of: 8))
        try producer.abortTransaction()
        try producer.beginTransaction()
        let afterwards = producer.acknowledgedLate
        #expect(afterwards == 0)
        try producer.abortTransaction()
    }

    @Test("an abort hides the records and leaves offset and metadata as they were")
    func abort() throws {
        let input = try RealBroker.topic("in")
        let output = try RealBroker.topic("out")
        let partition = TopicPartition(topic: input, partition: 0)
        try RealBroker.write(["a"], to: input)
        let consumer = try joined(input, group: RealBroker.unique("group"))
        let metadata = try consumer.groupMetadata()
        var producer = try Producer(settings: RealBroker.settings, transactionalID: RealBroker.unique("id"))
        let topic = try producer.topic(output)
        try producer.initTransactions()

        let first = CommittedOffset(offset: Offset(0), metadata: "first")
        try producer.beginTransaction()
        try producer.sendOffsets([partition: first], metadata)
        try producer.commitTransaction()

        try producer.beginTransaction()
        try producer.produce(ProducerRecord(key: nil, value: "hidden".bytes), to: topic)
        try producer.sendOffsets([partition: CommittedOffset(offset: Offset(1), metadata: "second")], metadata)
        try producer.abortTransaction()
        #expect(try consumer.committed([partition], timeout: .seconds(10)) == [partition: first])

        try producer.beginTransaction()
        try producer.produce(ProducerRecord(key: nil, value: "seen".bytes), to: topic)
        try producer.commitTransaction()
        #expect(try RealBroker.committedValues(of: output) == ["seen"])
        #expect(producer.takeFailures().isEmpty)
        consumer.close()
    }

    @Test(
        "docs/kafka.md 10: an abort right after 1,000 records is not fatal, and the next transaction works, ten times over"
    )
    func abortAtOnce() throws {
        let output = try RealBroker.topic("out", partitions: 6)
        for _ in 0..<10 {
            var producer = try Producer(settings: RealBroker.settings, transactionalID: RealBroker.unique("id"))
            let topic = try producer.topic(output)
            try producer.initTransactions()
            try producer.beginTransaction()
            for number in 0..<1000 {
                try producer.produce(ProducerRecord(key: "\(number)".bytes, value: [1]), to: topic)
            }
            try producer.abortTransaction()
            #expect(producer.fatalError == nil)
            try producer.beginTransaction()
            try producer.produce(ProducerRecord(key: nil, value: [2]), to: topic)
            try producer.commitTransaction()
        }
    }

    @Test(
        "docs/kafka.md 20: a record over the topic's limit fails its transaction and is named, and one more abort repairs the sequence"
    )
    func tooLargeForTopic() throws {
        let output = try RealBroker.topic("out", configuration: ["max.message.bytes": "2000"])
        var producer = try Producer(settings: RealBroker.settings, transactionalID: RealBroker.unique("id"))
        let topic = try producer.topic(output)
        try producer.initTransactions()
        var state: UInt64 = 1
        let large = (0..<5000).map { _ -> UInt8 in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 33)
        }
        for round in 0..<5 {
            try producer.beginTransaction()
            try producer.produce(ProducerRecord(key: nil, value: large), to: topic, tag: 2)
            let error = #expect(throws: KafkaError.self) { try producer.commitTransaction() }
            #expect(error?.recovery == .abortTransaction)
            let failures = producer.takeFailures()
            #expect(failures.map(\.tag) == [2])
            #expect(failures.map(\.error.kind) == [.messageTooLarge])
            try producer.abortTransaction()
            // May fail once with a gap in the sequence, which its abort repairs.
            do throws(KafkaError) {
                try producer.beginTransaction()
                try producer.produce(ProducerRecord(key: nil, value: "\(round)".bytes), to: topic)
                try producer.commitTransaction()
            } catch {
                #expect(error.kind == .outOfSequence)
                #expect(error.recovery == .abortTransaction)
                #expect(producer.takeFailures().isEmpty)
                try producer.abortTransaction()
                try producer.beginTransaction()
                try producer.produce(ProducerRecord(key: nil, value: "\(round)".bytes), to: topic)
                try producer.commitTransaction()
            }
        }
        #expect(try RealBroker.committedValues(of: output) == ["0", "1", "2", "3", "4"])
    }

    @Test("an abort of a transaction without records or offsets works")
    func abortEmpty() throws {
        var producer = try Producer(settings: RealBroker.settings, transactionalID: RealBroker.unique("id"))
        try producer.initTransactions()
        for _ in 0..<3 {
            try producer.beginTransaction()
            try producer.abortTransaction()
        }
        try producer.beginTransaction()
        try producer.commitTransaction()
    }

    @Test("a second producer with the same id fences the first, and the first says so")
    func fencing() throws {
        let output = try RealBroker.topic("out")
        let id = RealBroker.unique("id")
        var first = try Producer(settings: RealBroker.settings, transactionalID: id)
        let topic = try first.topic(output)
        try first.initTransactions()
        try first.beginTransaction()
        try first.produce(ProducerRecord(key: nil, value: "zombie".bytes), to: topic)
        var second = try Producer(settings: RealBroker.settings, transactionalID: id)
        let secondTopic = try second.topic(output)
        try second.initTransactions()
        let error = #expect(throws: KafkaError.self) {
            try first.produce(ProducerRecord(key: nil, value: "zombie 2".bytes), to: topic)
            try first.commitTransaction()
        }
        #expect(error?.kind == .fenced)
        #expect(error?.recovery == .recreateClient)
        #expect(error?.isFatal == true)
        #expect(first.fatalError?.kind == .fenced)
        try second.beginTransaction()
        try second.produce(ProducerRecord(key: nil, value: "alive".bytes), to: secondTopic)
        try second.commitTransaction()
        #expect(try RealBroker.committedValues(of: output) == ["alive"])
    }

    @Test("a producer whose transaction was open for too long is fenced by itself")
    func transactionTimeout() throws {
        let output = try RealBroker.topic("out")
        let settings = RealBroker.settings.merging(
            ["transaction.timeout.ms": "1500", "message.timeout.ms": "1400", "socket.timeout.ms": "1000"]) { $1 }
        var producer = try Producer(settings: settings, transactionalID: RealBroker.unique("id"))
        let topic = try producer.topic(output)
        try producer.initTransactions()
        try producer.beginTransaction()
        try producer.produce(ProducerRecord(key: nil, value: "late".bytes), to: topic)
        // By default the broker checks for expired transactions every 10 s.
        let error = try eventually("the broker's abort", within: .seconds(40)) { () -> KafkaError? in
            producer.poll(timeout: .milliseconds(500))
            do throws(KafkaError) {
                try producer.produce(ProducerRecord(key: nil, value: "late".bytes), to: topic)
                return nil
            } catch {
                return error
            }
        }
        #expect(error.kind == .fenced || error.kind == .state, "\(error)")
    }

    @Test("a metadata string of 4,096 bytes is kept, and a longer one aborts the transaction")
    func metadataLimit() throws {
        let input = try RealBroker.topic("in")
        let partition = TopicPartition(topic: input, partition: 0)
        let consumer = try joined(input, group: RealBroker.unique("group"))
        let metadata = try consumer.groupMetadata()
        var producer = try Producer(settings: RealBroker.settings, transactionalID: RealBroker.unique("id"))
        try producer.initTransactions()
        let fits = CommittedOffset(offset: Offset(0), metadata: String(repeating: "x", count: 4096))
        try producer.beginTransaction()
        try producer.sendOffsets([partition: fits], metadata)
        try producer.commitTransaction()
        try producer.beginTransaction()
        let error = #expect(throws: KafkaError.self) {
            try producer.sendOffsets(
                [partition: CommittedOffset(offset: Offset(0), metadata: fits.metadata + "x")], metadata)
        }
        #expect(error?.recovery == .abortTransaction)
        #expect(error?.kind == .offsetMetadataTooLarge)
        try producer.abortTransaction()
        #expect(try consumer.committed([partition], timeout: .seconds(10)) == [partition: fits])
        consumer.close()
    }

    @Test("committed() throws .retry while an open transaction has offsets, and never says that there is no commit")
    func committedWhileOpen() throws {
        let input = try RealBroker.topic("in")
        let group = RealBroker.unique("group")
        let partition = TopicPartition(topic: input, partition: 0)
        let consumer = try joined(input, group: group)
        let metadata = try consumer.groupMetadata()
        var producer = try Producer(settings: RealBroker.settings, transactionalID: RealBroker.unique("id"))
        try producer.initTransactions()
        try producer.beginTransaction()
        try producer.sendOffsets([partition: CommittedOffset(offset: Offset(7), metadata: "m")], metadata)
        let error = #expect(throws: KafkaError.self) { try consumer.committed([partition], timeout: .seconds(2)) }
        #expect(error?.recovery == .retry)
        #expect(error?.kind == .timedOut)
        try producer.commitTransaction()
        #expect(try consumer.committed([partition], timeout: .seconds(10))[partition]?.offset == Offset(7))
        consumer.close()
    }

    @Test("a static member that another process replaces gets a fatal FENCED_INSTANCE_ID")
    func staticTakeover() throws {
        let input = try RealBroker.topic("in")
        let group = RealBroker.unique("group")
        var consumer = try joined(input, group: group, instance: "slot-0")
        let second = try joined(input, group: group, instance: "slot-0")
        let error = try eventually("the fatal error") { () -> KafkaError? in
            if case .error(let error) = consumer.nextEvent(timeout: .milliseconds(100)), error.isFatal { return error }
            return nil
        }
        #expect(error.kind == .fencedInstanceID)
        #expect(error.recovery == .giveUp)
        #expect(consumer.fatalError?.kind == .fencedInstanceID)
        let start = ContinuousClock.now
        consumer.close()
        #expect(start.duration(to: .now) < .seconds(15))
        second.close()
    }
}
