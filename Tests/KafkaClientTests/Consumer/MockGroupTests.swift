import Testing

@testable import KafkaClient

@Suite("Groups and tear-down on the mock cluster", .timeLimit(.minutes(30)))
struct MockGroupTests {
    /// Answers rebalances until each of two members has half of the partitions; on a busy machine it may take more than
    /// one.
    ///
    /// - Parameter position: where they read; nil: nothing is read yet.
    /// - Returns: what each rebalance revoked from the first member, and the final assignments.
    private func share(
        _ assigned: [TopicPartition], between first: inout Consumer, and second: inout Consumer, at position: Offset?
    ) throws -> (revoked: [[TopicPartition]], shares: [[TopicPartition]]) {
        var revoked: [[TopicPartition]] = []
        var shares: [[TopicPartition]] = [assigned, []]
        let half = assigned.count / 2
        let joined = ContinuousClock.now + .seconds(90)
        while shares.map(\.count) != [half, half], .now < joined {
            switch first.nextEvent(timeout: .milliseconds(50)) {
            case .revoke(let partitions, let isLost):
                #expect(!isLost)
                revoked.append(partitions)
                shares[0] = []
                try first.unassign()
            case .assign(let partitions):
                shares[0] = partitions
                try first.assign(partitions, at: position)
            case .error(let error): Issue.record("\(error)")
            case .statistics, nil: break
            }
            switch second.nextEvent(timeout: .milliseconds(50)) {
            case .revoke:
                shares[1] = []
                try second.unassign()
            case .assign(let partitions):
                shares[1] = partitions
                try second.assign(partitions, at: position)
            case .error, .statistics, nil: break
            }
        }
        return (revoked, shares)
    }

    @Test("the assignment and its revocation arrive on the control queue while nobody reads the data")
    func twoQueues() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 4)
        var producer = try Producer(settings: .mock(cluster))
        let topic = try producer.topic("t")
        for number in 0..<400 {
            try producer.produce(
                ProducerRecord(key: nil, value: [UInt8(number & 0xff)], partition: Int32(number % 4)), to: topic)
        }
        try producer.flush(timeout: .seconds(10))

        var first = try Consumer(settings: .mock(cluster), group: "g")
        let assigned = try first.join(["t"])
        #expect(assigned.count == 4)
        #expect(first.assignment == assigned.sorted())
        #expect(first.memberID != nil)
        // The data queue delivers every record once, and every end, possibly before the last record.
        var count = 0
        var ends: Set<TopicPartition> = []
        let deadline = ContinuousClock.now + .seconds(30)
        while count < 400 || ends.count < 4, .now < deadline {
            let read = first.read(limit: 10, timeout: .milliseconds(100))
            count += read.records.count
            ends.formUnion(read.endsOfPartition.keys)
        }
        #expect(count == 400)
        #expect(ends == Set(assigned))

        // More data that nobody reads: the second member still gets half of the partitions.
        for number in 0..<400 {
            try producer.produce(ProducerRecord(key: nil, value: [1], partition: Int32(number % 4)), to: topic)
        }
        try producer.flush(timeout: .seconds(10))
        var second = try Consumer(settings: .mock(cluster), group: "g")
        try second.subscribe(to: ["t"])
        let (revoked, shares) = try share(assigned, between: &first, and: &second, at: Offset(100))
        #expect(revoked.first.map(Set.init) == Set(assigned))
        #expect(shares.map(\.count) == [2, 2])
        #expect(Set(shares.joined()) == Set(assigned))
        // Both members together read each record of the second half once; nothing of the first assignment is left.
        let records = try first.records(200) + second.records(200)
        #expect(Set(records.map { "\($0.partition)/\($0.offset)" }).count == 400)
        #expect(records.allSatisfy { $0.offset >= Offset(100) })
        first.close()
        second.close()
    }

    @Test("a member that does not yet know where to read delays nobody, and starts later")
    func assignedLater() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 2)
        var producer = try Producer(settings: .mock(cluster))
        let topic = try producer.topic("t")
        for number in 0..<20 {
            try producer.produce(ProducerRecord(key: nil, value: [1], partition: Int32(number % 2)), to: topic)
        }
        try producer.flush(timeout: .seconds(10))
        var first = try Consumer(settings: .mock(cluster), group: "g")
        let assigned = try first.join(["t"], at: nil)
        #expect(assigned.count == 2)
        var second = try Consumer(settings: .mock(cluster), group: "g")
        try second.subscribe(to: ["t"])
        let (_, shares) = try share(assigned, between: &first, and: &second, at: nil)
        #expect(shares.map(\.count) == [1, 1])
        try first.assign([assigned[0]: Offset(4), assigned[1]: Offset(4)].filter { shares[0].contains($0.key) })
        #expect(try first.records(6).count == 6)
    }

    @Test("committed() distinguishes no commit from an error")
    func committed() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        let partition = TopicPartition(topic: "t", partition: 0)
        let consumer = try Consumer(assigning: .mock(cluster), group: "g")
        #expect(try consumer.committed([partition], timeout: .seconds(10)) == [:])
        let position = CommittedOffset(offset: Offset(3), metadata: "w")
        try consumer.commit([partition: position], timeout: .seconds(10))
        #expect(try consumer.committed([partition], timeout: .seconds(10)) == [partition: position])
        try cluster.setBrokerDown(1)
        let error = #expect(throws: KafkaError.self) { try consumer.committed([partition], timeout: .seconds(1)) }
        #expect(error?.recovery == .retry)
        try cluster.setBrokerUp(1)
    }

    @Test("a commit is made again while the coordinator loads, and not where it is refused")
    func commitAgain() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        let partition = TopicPartition(topic: "t", partition: 0)
        let consumer = try Consumer(assigning: .mock(cluster), group: "g")
        let position = CommittedOffset(offset: Offset(3), metadata: "w")
        try cluster.pushErrors(.commitOffsets, Array(repeating: "COORDINATOR_LOAD_IN_PROGRESS", count: 30))
        try consumer.commit([partition: position], timeout: .seconds(30))
        #expect(try consumer.committed([partition], timeout: .seconds(10)) == [partition: position])
        try cluster.pushErrors(.commitOffsets, ["GROUP_AUTHORIZATION_FAILED"])
        #expect(throws: KafkaError.self) { try consumer.commit([partition: position], timeout: .seconds(30)) }
    }

    @Test("a consumer with an assignment and unread records closes in time", arguments: [true, false])
    func closesInTime(says goodbye: Bool) throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 2)
        var producer = try Producer(settings: .mock(cluster))
        let topic = try producer.topic("t")
        for number in 0..<1000 {
            try producer.produce(ProducerRecord(key: nil, value: [UInt8(number & 0xff)]), to: topic)
        }
        try producer.flush(timeout: .seconds(10))
        var start = ContinuousClock.now
        do {
            var consumer = try Consumer(settings: .mock(cluster), group: "g")
            _ = try consumer.join(["t"])
            _ = try consumer.records(1)
            start = .now
            if goodbye { consumer.close() }
        }
        #expect(start.duration(to: .now) < .seconds(10))
    }

    @Test(
        "a consumer whose rebalance nobody answered, and whose broker is gone, is freed in time",
        arguments: [true, false])
    func closesUnanswered(says goodbye: Bool) throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 2)
        var start = ContinuousClock.now
        do {
            var consumer = try Consumer(settings: .mock(cluster), group: "g")
            try consumer.subscribe(to: ["t"])
            let partitions = try eventually("the assignment") { () -> [TopicPartition]? in
                if case .assign(let partitions) = consumer.nextEvent(timeout: .milliseconds(100)) { return partitions }
                return nil
            }
            #expect(partitions.count == 2)
            try cluster.setBrokerDown(1)
            start = .now
            if goodbye { consumer.close(timeout: .seconds(3)) }
        }
        #expect(start.duration(to: .now) < .seconds(10))
    }

    @Test("a client that never reached a broker reports that all are down, and is freed in time")
    func noBroker() throws {
        var start = ContinuousClock.now
        do {
            var consumer = try Consumer(settings: ["bootstrap.servers": "127.0.0.1:1"], group: "g")
            try consumer.subscribe(to: ["t"])
            let error = try eventually("an error") { () -> KafkaError? in
                guard case .error(let error) = consumer.nextEvent(timeout: .milliseconds(100)) else { return nil }
                return error.kind == .allBrokersDown ? error : nil
            }
            #expect(error.recovery == .retry)
            #expect(error.description.contains("bootstrap.servers"))
            start = .now
        }
        #expect(start.duration(to: .now) < .seconds(10))
    }

    @Test("the statistics of a consumer arrive as a value on the control queue")
    func statistics() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
        try {
            var producer = try Producer(settings: .mock(cluster))
            let topic = try producer.topic("t")
            try producer.produce(ProducerRecord(key: nil, value: [1, 2, 3]), to: topic)
            try producer.flush(timeout: .seconds(10))
        }()
        var consumer = try Consumer(assigning: .mock(cluster).merging(["statistics.interval.ms": "100"]) { $1 })
        let partition = TopicPartition(topic: "t", partition: 0)
        try consumer.assign([partition: Offset(0)])
        _ = try consumer.records(1)
        let statistics = try eventually("statistics") { () -> ClientStatistics? in
            guard case .statistics(let statistics) = consumer.nextEvent(timeout: .milliseconds(50)) else { return nil }
            return statistics.partitions.first?.highWatermark != nil ? statistics : nil
        }
        #expect(statistics.partitions.map(\.partition) == [partition])
        #expect(statistics.partitions[0].highWatermark == Offset(1))
        #expect(statistics.isConnected)
    }
}
