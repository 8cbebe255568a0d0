import Foundation
import Hosting
import Telemetry
import TestSupport
import Testing

@testable import KafkaClient
@testable import Streaming

@Suite("A worker in transactions, and its clients", .timeLimit(.minutes(30)))
struct StreamWorkerTests {
    private static let broker = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_SERVERS"] ?? ""
    private let cluster: MockCluster
    private let host = RoleHost()
    private let notes = CopyingTenant.Notes()
    private let log = LogEntries()
    private let partition = TopicPartition(topic: "in", partition: 0)

    init() throws {
        cluster = try MockCluster()
        try cluster.createTopic("in", partitions: 1)
        try cluster.createTopic("out", partitions: 1)
    }

    private func contract(
        _ settings: Settings, group: String = "g", inputs: [String] = ["in"], output: String = "out", session: Int = 6
    ) -> Contract {
        let producer = settings.merging(["transaction.timeout.ms": "10000", "socket.timeout.ms": "10000"]) { $1 }
        return Contract(
            group: group, slot: Slot(instance: "a", number: 0), isStatic: true, inputs: inputs, outputs: [output],
            settings: settings,
            memberSettings: settings.merging(["session.timeout.ms": "\(session * 1_000)"]) { $1 },
            transactionSettings: producer, transactionTimeout: .seconds(10), commitInterval: .milliseconds(50))
    }

    private func worker(_ contract: Contract? = nil, more: Settings = [:]) throws -> StreamWorker<CopyingTenant> {
        let settings = ["bootstrap.servers": cluster.bootstrapServers].merging(more) { $1 }
        return try StreamWorker(
            contract ?? self.contract(settings), host, Metrics(), logger: Logger(label: "test", sink: log)
        ) { CopyingTenant($0, notes) }
    }

    /// A worker that reads a partition, of which the group knows nothing.
    private func reader(_ contract: Contract? = nil, more: Settings = [:]) throws -> StreamWorker<CopyingTenant> {
        var worker = try worker(contract, more: more)
        worker.assignment.assigned([partition], now: .now)
        try worker.assignment.located()
        try worker.assignment.started()
        worker.partitions = [partition]
        try worker.consumer.assign([partition: Offset(0)])
        worker.clock.compare(nil, host, of: "a test", Logger(label: "test", sink: log))
        return worker
    }

    private func failure(of client: KafkaError.Client, _ recovery: KafkaError.Recovery = .recreateClient) -> KafkaError
    {
        KafkaError(
            kind: .other, recovery: recovery, isFatal: recovery == .recreateClient, of: client, name: "_X", message: "m"
        )
    }

    /// One record.
    private func write(_ value: [UInt8]) throws {
        var producer = try Producer(settings: ["bootstrap.servers": cluster.bootstrapServers])
        try producer.produce(ProducerRecord(key: nil, value: value), to: try producer.topic("in"))
        try producer.flush(timeout: .seconds(10))
    }

    private func hasLine(_ prefix: String) -> Bool { log.messages.contains { $0.hasPrefix(prefix) } }

    // MARK: Whose error it is

    @Test("a producer that has failed is replaced, and the worker stays a member of its group")
    func producerFails() throws {
        var worker = try reader()
        try worker.recoverFully(from: failure(of: .producer))
        #expect(!hasLine("recreates its consumer"))
        #expect(hasLine("recreates its producer after: m"))
        worker.close()
    }

    @Test("a consumer that has failed is replaced, and the producer is not")
    func consumerFails() throws {
        var worker = try reader()
        try worker.recoverFully(from: KafkaError.stuckConsumer)
        #expect(hasLine("recreates its consumer"))
        #expect(!hasLine("recreates its producer"))
        #expect(worker.assignment.phase == .unassigned)
        worker.close()
    }

    @Test("a reader of its own that has failed costs it neither")
    func readerFails() throws {
        var worker = try reader()
        try worker.recoverFully(from: failure(of: .reader))
        #expect(!hasLine("recreates"))
        worker.close()
    }

    @Test("an error while nothing is open aborts nothing")
    func nothingOpen() throws {
        var worker = try reader()
        try worker.recoverFully(from: failure(of: .reader))
        try worker.recoverFully(from: failure(of: .producer))
        #expect(!notes.calls.contains("aborted"))
        _ = try worker.open()
        try worker.recoverFully(from: failure(of: .reader))
        #expect(notes.calls.filter { $0 == "aborted" }.count == 1)
        worker.close()
    }

    @Test("a round with nothing to do leaves no transaction open, whose clock the next records would have")
    func idleRound() throws {
        var worker = try reader()
        worker.tenant.reached(0, of: partition)
        for _ in 0..<3 {
            _ = try worker.round()
            let isIdle = worker.transactions.isIdle
            #expect(isIdle)
        }
        worker.close()
    }

    @Test("an error of its own aborts what is open, and its partitions are located again")
    func ownError() throws {
        struct Damaged: Error {}
        var worker = try reader()
        _ = try worker.open()
        try worker.recoverFully(from: Damaged())
        #expect(notes.calls == ["consider", "aborted", "release"])
        #expect(worker.assignment.search?.partitions == [partition])
        worker.close()
    }

    @Test("where the tenant says so, its partitions are only read again after an error of its own: none is unassigned")
    func ownErrorInPlace() throws {
        struct Busy: Error {}
        notes.locatesAgain = false
        var worker = try reader()
        _ = try worker.open()
        try worker.recoverFully(from: Busy())
        let assigned = worker.consumer.assignment
        #expect(notes.calls == ["consider", "aborted"] && notes.forgotten == 1)
        #expect(worker.assignment.phase == .reading && assigned == [partition])
        worker.close()
    }

    @Test("a consumer that cannot read again what its tenant has left is replaced: the tenant does not ask twice")
    func cannotTakeBack() throws {
        var worker = try keeper()
        notes.again = [TopicPartition(topic: "out", partition: 0): Offset(0)]
        let error = #expect(throws: KafkaError.self) { try worker.take() }
        notes.again = [:]
        try worker.recoverFully(from: try #require(error))
        #expect(hasLine("recreates its consumer"))
        worker.close()
    }

    // MARK: Records

    @Test("a record that the client refuses itself is tried again as its tenant says, and then ends the role")
    func refusedByTheClient() throws {
        var worker = try reader(more: ["message.max.bytes": "2000"])
        func write(_ worker: inout StreamWorker<CopyingTenant>) throws {
            _ = try worker.open()
            try worker.transaction.write(ProducerRecord(key: nil, value: Array(repeating: 0, count: 3_000)), to: 0)
        }
        for attempt in 1...2 {
            do {
                try write(&worker)
                Issue.record("it was written")
            } catch {
                let failure = #expect(throws: (any Error).self) {
                    try worker.recoverFully(from: error)
                    throw CancellationError()
                }
                let isOver = (failure as? PipelineError) != nil
                #expect(isOver == (attempt == 2))
            }
        }
        #expect(notes.refusals == 2)
        worker.transaction.abandon()
        worker.close()
    }

    @Test("a refusal in a transaction that was aborted is not charged to the next one, which has written nothing yet")
    func refusedBefore() throws {
        var worker = try reader()
        _ = try worker.open()
        try cluster.pushErrors(.produce, ["MSG_SIZE_TOO_LARGE"])
        try worker.transaction.write(ProducerRecord(key: nil, value: [1]), to: 0)
        try worker.end(worker.transactions.dropped())
        _ = try worker.open()
        try worker.recoverFully(from: failure(of: .reader))
        #expect(notes.refusals == 0)
        worker.close()
    }

    @Test("what a probe of the clock has written is not left for the next transaction where it is refused")
    func refusedProbe() throws {
        var worker = try reader()
        try cluster.pushErrors(.produce, ["MSG_SIZE_TOO_LARGE"])
        let error = #expect(throws: KafkaError.self) {
            _ = try worker.transaction.brokerTime(by: ProducerRecord(key: nil, value: []), in: 0)
        }
        try worker.recoverFully(from: try #require(error))
        #expect(notes.refusals == 1 && !worker.transaction.isBegun)
        worker.close()
    }

    @Test("after an error it waits for its next attempt; a refused record is looked for at once")
    func nextAttempt() throws {
        var worker = try reader()
        try worker.recoverFully(from: failure(of: .reader))
        let waits = worker.nextAttempt > .now
        try worker.recoverFully(
            from: KafkaError(kind: .messageTooLarge, recovery: .abortTransaction, of: .producer, name: "", message: ""))
        let isAtOnce = worker.nextAttempt <= .now
        #expect(waits && isAtOnce && notes.refusals == 1)
        worker.close()
    }

    @Test("a worker that is behind lets its transaction grow older: until nothing waits, or for the longer interval")
    func behind() throws {
        var contract = contract(["bootstrap.servers": cluster.bootstrapServers])
        (contract.commitInterval, contract.commitIntervalBehind) = (.zero, .seconds(60))
        var worker = try reader(contract)
        _ = try worker.open()
        try worker.commitIfDue()
        #expect(notes.calls == [])
        worker.hasCaughtUp = true
        // It has no membership.
        #expect(throws: KafkaError.lostAssignment) {
            worker.tenant.reached(1, of: partition)
            try worker.commitIfDue()
        }
        try worker.end(worker.transactions.dropped())
        _ = try worker.open()
        let isBehind = !worker.hasCaughtUp
        #expect(isBehind && notes.calls == ["finish", "aborted"])
        worker.close()
    }

    @Test("where the tenant says that the log is no end, partitions whose next offset is gone are located again")
    func outOfRange() throws {
        var worker = try reader()
        let gone = KafkaError(
            kind: .offsetOutOfRange, recovery: .giveUp, of: .member, name: "", message: "gone", operation: "consume")
        #expect(throws: PipelineError.self) { try worker.considerErrors([gone]) }
        notes.isOverAtTheEnd = false
        let error = #expect(throws: KafkaError.self) { try worker.considerErrors([gone]) }
        try worker.recoverFully(from: try #require(error))
        #expect(worker.assignment.search?.partitions == [partition] && notes.calls == ["release"])
        worker.close()
    }

    @Test("after an abort partitions are read from where the tenant is, without a question")
    func readsAgain() throws {
        var worker = try reader()
        var producer = try Producer(settings: ["bootstrap.servers": cluster.bootstrapServers])
        let topic = try producer.topic("in")
        for value in UInt8(1)...3 { try producer.produce(ProducerRecord(key: nil, value: [value]), to: topic) }
        try producer.flush(timeout: .seconds(10))
        // Committed up to the second.
        worker.tenant.reached(1, of: partition)
        worker.tenant.committed()
        let deadline = ContinuousClock.now + .seconds(60)
        func readAll(_ worker: inout StreamWorker<CopyingTenant>, _ count: Int) throws {
            while notes.written.count < count, .now < deadline {
                try worker.fill(0, timeout: .milliseconds(100))
                try worker.take()
            }
        }
        try readAll(&worker, 3)
        try worker.end(worker.transactions.dropped())
        try worker.rewind()
        try readAll(&worker, 5)
        #expect(notes.written == [[1], [2], [3], [2], [3]])
        #expect(!notes.calls.contains("locate"))
        worker.transaction.abandon()
        worker.close()
    }

    @Test("of two inputs that always have more, the one whose batch is left over waits for the other's next batch")
    func turns() throws {
        try cluster.createTopic("more", partitions: 1)
        let settings = ["bootstrap.servers": cluster.bootstrapServers]
        var contract = contract(settings, inputs: ["in", "more"])
        contract.batchRecords = 2
        var worker = try worker(contract)
        let topicPartitions = ["in", "more"].map { TopicPartition(topic: $0, partition: 0) }
        worker.assignment.assigned(topicPartitions, now: .now)
        try worker.assignment.located()
        try worker.assignment.started()
        try worker.consumer.assign(Dictionary(uniqueKeysWithValues: topicPartitions.map { ($0, Offset(0)) }))
        var producer = try Producer(settings: settings)
        for (value, topicPartition) in zip(UInt8(1)..., topicPartitions) {
            let topic = try producer.topic(topicPartition.topic)
            for _ in 0..<8 { try producer.produce(ProducerRecord(key: nil, value: [value]), to: topic) }
        }
        try producer.flush(timeout: .seconds(10))
        let deadline = ContinuousClock.now + .seconds(60)
        while [0, 1].contains(where: { worker.consumer.waitingRecords(in: $0) < 8 }), .now < deadline {
            worker.consumer.waitForRecords(in: [0, 1], timeout: .milliseconds(100))
        }
        // One record of a batch each time.
        notes.room = 1
        for _ in 0..<8 { try worker.take() }
        #expect(notes.written.prefix(8).map { $0[0] } == [1, 2, 1, 2, 1, 2, 1, 2])
        worker.transaction.abandon()
        worker.close()
    }

    @Test("the end of a partition counts although nothing was taken before the next batch: it comes once")
    func endsCount() throws {
        var worker = try reader()
        try write([])
        // Assigned again at once, it got nothing for a minute in every second run.
        try worker.consumer.seek(to: [partition: Offset(1)], timeout: .seconds(10))
        worker.tenant.reached(0, of: partition)
        let deadline = ContinuousClock.now + .seconds(60)
        // Not the end of the empty topic, which may have been on its way already.
        while !worker.inputs[0].batch.endsOfPartition.contains(where: { $0.offset == Offset(1) }), .now < deadline {
            try worker.fill(0, timeout: .milliseconds(100))
        }
        try worker.fill(0, timeout: .zero)
        let position = worker.tenant.position(partition)
        #expect(position == 1)
        worker.close()
    }

    @Test("of several inputs each is read by itself, and those that are not wanted wait in Kafka")
    func severalInputs() throws {
        try cluster.createTopic("more", partitions: 1)
        let settings = ["bootstrap.servers": cluster.bootstrapServers]
        var worker = try worker(contract(settings, inputs: ["in", "more"]))
        let topicPartitions = ["in", "more"].map { TopicPartition(topic: $0, partition: 0) }
        worker.assignment.assigned(topicPartitions, now: .now)
        try worker.assignment.located()
        try worker.assignment.started()
        try worker.consumer.assign(Dictionary(uniqueKeysWithValues: topicPartitions.map { ($0, Offset(0)) }))
        var producer = try Producer(settings: settings)
        for (value, name) in [UInt8(1), 2].enumerated().map({ ($1, topicPartitions[$0].topic) }) {
            try producer.produce(ProducerRecord(key: nil, value: [value]), to: try producer.topic(name))
        }
        try producer.flush(timeout: .seconds(10))
        let deadline = ContinuousClock.now + .seconds(60)
        notes.unwanted = [0]
        while notes.written.isEmpty, .now < deadline {
            try worker.take()
            worker.consumer.waitForRecords(in: [1], timeout: .milliseconds(100))
        }
        while worker.consumer.waitingRecords(in: 0) == 0, .now < deadline {
            worker.consumer.waitForRecords(in: [0], timeout: .milliseconds(100))
        }
        try worker.take()
        #expect(notes.written == [[2]])
        notes.unwanted = []
        try worker.take()
        #expect(notes.written == [[2], [1]])
        let reached = topicPartitions.map { worker.tenant.position($0) }
        #expect(reached == [1, 1])
        worker.transaction.abandon()
        worker.close()
    }

    @Test("what is left of a batch and not wanted now is waited for: the worker does not ask again and again")
    func waitsForWhatIsNotWanted() throws {
        try write([1])
        var worker = try reader()
        notes.room = 0
        let deadline = ContinuousClock.now + .seconds(60)
        while worker.inputs[0].isTaken, .now < deadline { _ = try worker.round() }
        notes.unwanted = [0]
        let end = ContinuousClock.now + .seconds(1)
        var rounds = 0
        while .now < end {
            rounds += 1
            _ = try worker.round()
        }
        #expect(rounds < 100, "\(rounds) rounds")
        notes.unwanted = []
        notes.room = .max
        while notes.written.isEmpty, .now < deadline { _ = try worker.round() }
        #expect(notes.written == [[1]])
        worker.transaction.abandon()
        worker.close()
    }

    @Test("what is not wanted now lets no transaction grow older: it has caught up with what it wants")
    func unwantedIsNotBehind() throws {
        try cluster.createTopic("more", partitions: 1)
        var contract = contract(["bootstrap.servers": cluster.bootstrapServers], inputs: ["in", "more"])
        (contract.commitInterval, contract.commitIntervalBehind) = (.seconds(300), .seconds(600))
        try write([1])
        var worker = try reader(contract)
        notes.room = 0
        let deadline = ContinuousClock.now + .seconds(60)
        while worker.inputs[0].isTaken, .now < deadline { _ = try worker.round() }
        _ = try worker.open()
        _ = try worker.round()
        let isBehind = !worker.hasCaughtUp
        notes.unwanted = [0]
        while !worker.hasCaughtUp, .now < deadline { _ = try worker.round() }
        let hasCaughtUp = worker.hasCaughtUp
        #expect(isBehind && hasCaughtUp && notes.written.isEmpty)
        worker.transaction.abandon()
        worker.close()
    }

    @Test("with several inputs, too, a tenant has nothing to do between the two ends of a wait for records")
    func waits() throws {
        try cluster.createTopic("more", partitions: 1)
        var contract = contract(["bootstrap.servers": cluster.bootstrapServers], inputs: ["in", "more"])
        // It has no membership.
        (contract.commitInterval, contract.commitIntervalBehind) = (.seconds(60), .seconds(60))
        var worker = try reader(contract)
        worker.tenant.reached(0, of: partition)
        try write([1])
        let deadline = ContinuousClock.now + .seconds(60)
        var rounds = 0
        while rounds < 3 || notes.written.isEmpty, .now < deadline {
            _ = try worker.round()
            rounds += 1
        }
        #expect(notes.written == [[1]] && !notes.hasWorkedWhileReading)
        worker.transaction.abandon()
        worker.close()
    }

    // MARK: Ends of transactions

    @Test("an error while an end is unknown takes nothing back that may be committed")
    func unknownEndAndError() throws {
        var worker = try reader()
        worker.tenant.reached(0, of: partition)
        worker.unknown = UnknownEnd(
            sent: [partition: CommittedOffset(offset: Offset(7), metadata: "m")], before: [:])
        try worker.recoverFully(from: failure(of: .reader, .abortTransaction))
        #expect(notes.forgotten == 0 && worker.unknown != nil && worker.assignment.phase == .reading)
        worker.close()
    }

    @Test(
        "a transaction whose end is unknown is decided in the rounds that follow; until then nothing is taken or given")
    func unknownEnd() throws {
        var worker = try reader()
        worker.unknown = UnknownEnd(
            sent: [partition: CommittedOffset(offset: Offset(7), metadata: "m")], before: [:])
        while worker.unknown != nil { _ = try worker.round() }
        // The group has nothing, as before.
        #expect(notes.calls == ["aborted"])
        worker.close()
    }

    @Test(
        "partitions that are taken away while an end is unknown are given up at once: their next owner asks the group")
    func unknownAndRevoked() throws {
        var worker = try reader()
        worker.unknown = UnknownEnd(sent: [:], before: [:])
        try worker.revoke(isLost: false)
        #expect(worker.unknown == nil && worker.assignment.phase == .unassigned)
        // A tenant that still waited for the end would write nothing of its next partitions.
        #expect(notes.calls == ["aborted", "release"])
        worker.close()
    }

    @Test("a commit that fails while partitions are taken away is dropped, and none of them is read again")
    func commitFailsInRevoke() throws {
        var worker = try reader()
        _ = try worker.open()
        worker.tenant.reached(1, of: partition)
        // It has no membership.
        try worker.revoke(isLost: false)
        #expect(notes.calls.suffix(2) == ["aborted", "release"])
        let assigned = worker.consumer.assignment
        #expect(assigned == [] && worker.assignment.phase == .unassigned)
        worker.close()
    }

    @Test("where the partitions cannot be sought in after an abort they are located again, and not assigned at once")
    func cannotSeek() throws {
        var worker = try reader()
        worker.tenant.reached(0, of: partition)
        // As with a partition that is not read yet, the seek fails.
        try worker.consumer.unassign()
        try worker.rewind()
        guard case .locating = worker.assignment.phase else {
            Issue.record("\(worker.assignment.phase)")
            return
        }
        let assigned = worker.consumer.assignment
        #expect(assigned == [] && notes.calls == ["release"])
        worker.close()
    }

    @Test("what is open when the role ends by an error is aborted: nobody waits for its time-out")
    func abandoned() throws {
        var worker = try reader()
        _ = try worker.open()
        try worker.transaction.write(ProducerRecord(key: nil, value: [1]), to: 0)
        notes.failure = PipelineError.decisionNeeded("a test")
        #expect(worker.transaction.isBegun)
        #expect(throws: PipelineError.self) { try worker.run() }
        #expect(!worker.transaction.isBegun)
        worker.close()
    }

    // MARK: A tenant that keeps what it knows

    /// Reads a partition, and has been assigned it.
    private func keeper() throws -> StreamWorker<CopyingTenant> {
        var contract = contract(["bootstrap.servers": cluster.bootstrapServers])
        contract.keeping = .everything
        contract.signal = try QueueSignal()
        var worker = try reader(contract)
        worker.tenant.reached(0, of: partition)
        return worker
    }

    @Test("a tenant that keeps what it knows has nothing read again after an abort, and writes the same once more")
    func kept() throws {
        var worker = try keeper()
        try write([2])
        let deadline = ContinuousClock.now + .seconds(60)
        while worker.inputs[0].batch.isEmpty, .now < deadline { try worker.fill(0, timeout: .milliseconds(100)) }
        notes.answers = [[1]]
        // Without a membership nothing is committed.
        let error = #expect(throws: (any Error).self) { try worker.commitIfDue() }
        worker.tenant.reached(5, of: partition)
        try worker.recoverFully(from: try #require(error))
        let left = worker.inputs[0].batch.count
        #expect(left == 1)
        // It works on, and commits nothing before the next attempt is due.
        worker.nextAttempt = .now + .seconds(60)
        for _ in 0..<3 { _ = try worker.round() }
        #expect(notes.calls == ["finish", "aborted"] && notes.heard == 3)
        worker.nextAttempt = .now
        #expect(throws: (any Error).self) { try worker.commitIfDue() }
        #expect(notes.calls == ["finish", "aborted", "finish"] && notes.answers == [[1]])
        worker.transaction.abandon()
        worker.close()
    }

    @Test("a revocation is answered once the tenant has let go, or after the time that it has said")
    func letsGo() throws {
        var worker = try keeper()
        (notes.letsGoWithin, notes.hasLetGo) = (.seconds(60), false)
        try worker.revoke(isLost: false)
        for _ in 0..<3 { _ = try worker.round() }
        let kept = worker.consumer.assignment
        #expect(notes.calls == ["letGo"] && kept == [partition])
        notes.hasLetGo = true
        let hasEnded = try worker.round()
        let assigned = worker.consumer.assignment
        #expect(!hasEnded && assigned == [] && notes.calls == ["letGo", "release"])

        var late = try keeper()
        (notes.letsGoWithin, notes.hasLetGo) = (.zero, false)
        try late.revoke(isLost: false)
        _ = try late.round()
        let left = late.consumer.assignment
        #expect(left == [])
        worker.close()
        late.close()
    }

    @Test("the time for letting go also ends while an end is unknown, and where the worker ends by itself")
    func letsGoInTime() throws {
        (notes.letsGoWithin, notes.hasLetGo) = (.zero, false)
        for isLast in [false, true] {
            var worker = try keeper()
            if isLast { worker.part(isLast: true) }
            try worker.revoke(isLost: false)
            worker.unknown = UnknownEnd(
                sent: [partition: CommittedOffset(offset: Offset(7), metadata: "m")], before: [:])
            let hasEnded = try worker.round()
            #expect(hasEnded == isLast && worker.unknown == nil && worker.partitions.isEmpty)
            worker.close()
        }
    }

    @Test("a tenant whose work fails again and again is not asked without a pause, and what it knows is committed")
    func failingKeeper() throws {
        var worker = try keeper()
        notes.failure = failure(of: .reader, .retry)
        notes.answers = [[1]]
        let end = ContinuousClock.now + .seconds(1)
        var rounds = 0
        while .now < end {
            rounds += 1
            do { _ = try worker.round() } catch { try worker.recoverFully(from: error) }
        }
        #expect(notes.calls.contains("finish") && rounds < 100, "\(rounds) rounds")
        worker.transaction.abandon()
        worker.close()
    }

    @Test("a role that drains waits until its tenant has let go; partitions that are lost meanwhile are let go at once")
    func drains() throws {
        var worker = try keeper()
        notes.hasLetGo = false
        host.drain()
        for _ in 0..<3 {
            let hasEnded = try worker.round()
            #expect(!hasEnded)
        }
        // The group takes them, too: it is answered when the worker leaves.
        try worker.revoke(isLost: false)
        let kept = worker.consumer.assignment
        #expect(kept == [partition])
        notes.hasLetGo = true
        let hasEnded = try worker.round()
        #expect(hasEnded && notes.calls == ["letGo", "release"])
        worker.close()
    }

    @Test("a worker that drains still replaces a producer that has failed, where its tenant has answers to commit")
    func replacesWhileDraining() throws {
        var worker = try keeper()
        var other = try reader()
        host.drain()
        try worker.recoverFully(from: failure(of: .producer))
        #expect(hasLine("recreates its producer after: m"))
        worker.close()
        #expect(throws: PipelineEnded.self) { try other.recoverFully(from: failure(of: .producer)) }
        other.close()
    }

    @Test("an end that is unknown is decided while the tenant lets go; where the group has neither, all is let go")
    func unknownWhileLettingGo() throws {
        var worker = try keeper()
        (notes.letsGoWithin, notes.hasLetGo) = (.seconds(60), false)
        try worker.revoke(isLost: false)
        let somebody = CommittedOffset(offset: Offset(3), metadata: "")
        worker.unknown = UnknownEnd(
            sent: [partition: CommittedOffset(offset: Offset(7), metadata: "m")], before: [partition: somebody])
        while worker.unknown != nil { _ = try worker.round() }
        #expect(notes.heard > 0)
        // They are not located again, since they are being taken away.
        let search = worker.assignment.search
        #expect(notes.calls == ["letGo", "aborted", "release"] && search == nil)
        worker.close()
    }

    @Test("partitions are not located while a transaction is open in an input that has to be settled")
    func unsettled() throws {
        var contract = contract(["bootstrap.servers": cluster.bootstrapServers])
        contract.settledInputs = ["in"]
        var worker = try reader(contract)
        worker.assignment.assigned([partition], now: .now)
        worker.highs = [partition: Offset(1)]
        let assigned = worker.assignment.search
        let search = try #require(assigned)
        // The coordinator answers.
        var deadline = ContinuousClock.now + .seconds(60)
        while (try? worker.consumer.committed([partition], timeout: .seconds(1))) == nil, .now < deadline {}
        try worker.locate(search)
        #expect(!notes.calls.contains("locate"))
        var producer = try Producer(settings: contract.settings)
        let topic = try producer.topic("in")
        for _ in 0..<2 { try producer.produce(ProducerRecord(key: nil, value: []), to: topic) }
        try producer.flush(timeout: .seconds(10))
        // The mark that was found first counts: who else writes would hold it up for ever.
        deadline = .now + .seconds(60)
        while !notes.calls.contains("locate"), .now < deadline { try worker.locate(search) }
        let highs = worker.highs
        #expect(notes.calls.contains("locate") && highs == [partition: Offset(1)])
        worker.close()
    }

    // MARK: Watches

    @Test("a consumer that gets nothing for two minutes although there is something to read is replaced")
    func stuckConsumer() throws {
        var worker = try reader()
        try write([])
        worker.tenant.reached(0, of: partition)
        worker.inputs[0].watch = ConsumerWatch(limit: .zero)
        try worker.watchConsumer(of: worker.inputs[0])
        #expect(throws: KafkaError.stuckConsumer) { try worker.watchConsumer(of: worker.inputs[0]) }
        worker.close()
    }

    @Test(
        "a consumer is watched anew with what the group assigns, and not with what is located again",
        arguments: [true, false])
    func watchedAnew(isAssigned: Bool) throws {
        var worker = try reader()
        try write([1])
        worker.tenant.reached(0, of: partition)
        worker.inputs[0].watch = ConsumerWatch(limit: .zero)
        try worker.watchConsumer(of: worker.inputs[0])
        if isAssigned {
            worker.release()
            worker.assignment.assigned([partition], now: .now)
        } else {
            try worker.startAgain()
        }
        let deadline = ContinuousClock.now + .seconds(60)
        while (try? worker.consumer.committed([partition], timeout: .seconds(1))) == nil, .now < deadline {}
        while let search = worker.assignment.search, .now < deadline { try worker.locate(search) }
        #expect(worker.assignment.phase == .reading)
        let isStuck = (try? worker.watchConsumer(of: worker.inputs[0])) == nil
        #expect(isStuck == !isAssigned)
        worker.close()
    }

    @Test("the lag of a partition that is no longer read is not told any longer")
    func lagOfOthers() throws {
        var worker = try reader()
        let other = TopicPartition(topic: "in", partition: 1)
        for topicPartition in [partition, other] { worker.tenant.reached(2, of: topicPartition) }
        let statistics = [partition, other].map {
            ClientStatistics.Partition(partition: $0, highWatermark: Offset(9), lastStableOffset: Offset(9))
        }
        worker.observe(ClientStatistics(isConnected: true, partitions: statistics))
        #expect(worker.lag == [partition: 7, other: 7])
        worker.tenant.release(.toItself)
        worker.tenant.reached(2, of: partition)
        worker.observe(ClientStatistics(isConnected: true, partitions: [statistics[0]]))
        #expect(worker.lag == [partition: 7])
        worker.close()
    }

    // MARK: Static membership

    @Test(
        "a worker that was killed and is back takes up its partitions at once, long before its session ends",
        .enabled(if: !broker.isEmpty, "needs a broker: set KAFKA_BOOTSTRAP_SERVERS"))
    func backAtOnce() throws {
        let name = "test-static-\(UUID().uuidString.prefix(8).lowercased())"
        let settings = ["bootstrap.servers": Self.broker]
        let topics = ["\(name).in", "\(name).out"]
        let admin = try Admin(settings: settings)
        let outcome = try admin.createTopics(
            topics.map { NewTopic(name: $0, partitions: 1, replicationFactor: 1) })
        for case let error? in outcome.values { throw error }
        let contract = contract(settings, group: name, inputs: [topics[0]], output: topics[1], session: 45)
        func untilAssigned(_ worker: inout StreamWorker<CopyingTenant>) throws -> Duration {
            let began = ContinuousClock.now
            while worker.assignments == 0, .now - began < .seconds(60) { try worker.serveControl() }
            return .now - began
        }
        do {
            // As if it was killed: it is freed without leaving its group.
            var killed = try worker(contract)
            _ = try untilAssigned(&killed)
        }
        var worker = try worker(contract)
        let time = try untilAssigned(&worker)
        #expect(worker.assignment.groupPartitions.count == 1)
        #expect(time < .seconds(20), "\(time)")
        worker.close()
    }

    @Test(
        "a static member of a co-partitioned group that is back with one more topic gets none of its partitions",
        .enabled(if: !broker.isEmpty, "needs a broker: set KAFKA_BOOTSTRAP_SERVERS"))
    func staticWithMoreTopics() throws {
        let name = "test-lane-\(UUID().uuidString.prefix(8).lowercased())"
        let settings = ["bootstrap.servers": Self.broker]
        let topics = ["\(name).in", "\(name).more", "\(name).out"]
        let admin = try Admin(settings: settings)
        let outcome = try admin.createTopics(
            topics.map { NewTopic(name: $0, partitions: 1, replicationFactor: 1) })
        for case let error? in outcome.values { throw error }
        var contract = contract(settings, group: name, inputs: [topics[0]], output: topics[2], session: 45)
        contract.isCoPartitioned = true
        func assigned(_ contract: Contract) throws -> [String] {
            var worker = try worker(contract)
            let deadline = ContinuousClock.now + .seconds(60)
            while worker.assignments == 0, .now < deadline { try worker.serveControl() }
            // Freed without leaving its group, as if it was killed.
            return worker.assignment.groupPartitions.map(\.topic)
        }
        #expect(try assigned(contract) == [topics[0]])
        contract.inputs.append(topics[1])
        #expect(try assigned(contract) == [topics[0]])
    }
}
