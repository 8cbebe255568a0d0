import Foundation
import KafkaClient
import StageSupport
import Streaming
import TestSupport
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("The follower of the subscriptions", .timeLimit(.minutes(30)))
struct TableFollowerTests {
    @Test("no worker fans out before the table has reached the end; then it is complete, and knows the last records")
    func catchUp() throws {
        var trial = try FollowerTrial()
        try trial.subscribe(["a", "b", "c"])
        let barrier = trial.context.gate.requestBarrier()
        #expect(!trial.context.gate.isOpen(barrier))
        try trial.rounds(until: "the gate opens") { $0.context.gate.isOpen(barrier) }
        let position = trial.table.position
        #expect(position.isWhole)
        #expect(position.offsets.reduce(0, +) == 3)
        #expect(position.records.map(\.elements.count).reduce(0, +) == 3)
        #expect(position.records.allSatisfy { $0.elements.allSatisfy { $0.key != nil && $0.timestamp != nil } })
        #expect(try trial.table.count() == 3)
        #expect(abs(position.time - trial.context.clock.now()) < 30_000)
    }

    @Test(
        "what was written before somebody asks for it is stored, and then said to be; the pipeline is ready meanwhile")
    func writes() throws {
        var trial = try FollowerTrial()
        let (gate, writes) = (trial.context.gate.requestBarrier(), trial.context.gate.writes.request())
        try trial.rounds(until: "the gate opens") { $0.context.gate.isOpen(gate) }
        for count in 1...3 {
            try trial.subscribe(["token-\(count)"])
            let request = trial.context.gate.writes.request()
            let isThere = trial.context.gate.writes.isPassed(request)
            #expect(!isThere)
            #expect(!trial.context.readiness.reasons.contains { "\($0)".contains("table") })
            try trial.rounds(until: "it is there") { $0.context.gate.writes.isPassed(request) }
            #expect(try trial.table.count() == count)
        }
        let (isPassed, isAwaited) = (trial.context.gate.writes.isPassed(writes), trial.context.gate.writes.isAwaited)
        #expect(isPassed && !isAwaited)
    }

    @Test("while the broker does not say what was written nobody is told that it is there; later it is asked again")
    func unknownWrites() throws {
        var trial = try FollowerTrial()
        try trial.cluster.pushErrors(.listOffsets, Array(repeating: "REQUEST_TIMED_OUT", count: 1_000))
        let request = trial.context.gate.writes.request()
        try trial.rounds(until: "it was asked") { $0.follower.writes != nil }
        #expect(trial.follower.writes?.ends == nil)
        trial.cluster.clearErrors(.listOffsets)
        try trial.subscribe(["a"])
        try trial.rounds(until: "it is there") { $0.context.gate.writes.isPassed(request) }
        #expect(try trial.table.count() == 1)
    }

    @Test("what does not fit into memory is laid aside and stored at the end: until then there is no snapshot")
    func fill() throws {
        let runBytes = 20_000
        var trial = try FollowerTrial(runBytes: runBytes)
        let count = 12_000
        try trial.subscribe((0..<count).map { "token-\($0)" })
        try trial.unsubscribe((0..<count / 3).map { "token-\($0)" })
        let barrier = trial.context.gate.requestBarrier()
        // A batch at most, beside what is laid aside at once.
        let limit = runBytes + TableFollower.batchLimit * 250
        try trial.rounds(until: "the table is complete") { trial in
            #expect(trial.follower.waiting.changes.byteCount < limit)
            let count = try trial.table.count()
            #expect(trial.table.isWhole || count == 0)
            return trial.table.isWhole
        }
        #expect(trial.follower.waiting.count == 0)
        try trial.rounds(until: "the gate opens") { $0.context.gate.isOpen(barrier) }
        #expect(try trial.table.count() == count - count / 3)
        #expect(trial.table.position.offsets.reduce(0, +) == Int64(count + count / 3))
        #expect(trial.table.position.records.allSatisfy { $0.elements.count == 16 })
        // A complete table gets changes as they come.
        try trial.subscribe(["one-more"])
        try trial.rounds(until: "it is applied") { try $0.table.count() == count - count / 3 + 1 }
    }

    @Test(
        "a partition that is held is left as it is: fan-out goes on, and the pipeline is not ready and says what is behind"
    )
    func held() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try "3 - \(FollowerTrial.topic) 1 0\n".write(
            toFile: PartitionHolds.path(in: folder.path), atomically: true, encoding: .utf8)
        var trial = try FollowerTrial(folder: folder.path)
        for token in ["a", "b", "c"] { try trial.write(token, isSubscribed: true, in: 1) }
        try trial.write(Self.home0, isSubscribed: true, in: 0)
        let barrier = trial.context.gate.requestBarrier()
        try trial.rounds(until: "the gate opens") { $0.context.gate.isOpen(barrier) }
        #expect(trial.table.position.isWhole)
        #expect(trial.table.position.offsets == [1, 0])
        try trial.rounds(until: "what is behind is known") {
            $0.context.readiness.reasons.contains(.held("\(FollowerTrial.topic)/1/0", recordsBehind: 3))
        }
    }

    /// A token whose key belongs into the first of two partitions.
    private static var home0: String {
        (0...).lazy.map { "token-\($0)" }.first { FollowerTrial.home($0, among: 2) == 0 } ?? ""
    }

    @Test("a full disk delays the filling: what was laid aside is kept, and stored when there is room")
    func fullDiskInFill() throws {
        var trial = try FollowerTrial(runBytes: 20_000)
        try trial.subscribe((0..<12_000).map { "token-\($0)" })
        trial.store.isFull.store(true, ordering: .relaxed)
        try trial.rounds(until: "everything is read") { $0.follower.position.isWhole }
        for _ in 0..<20 { try trial.follower.round() }
        #expect(!trial.table.position.isWhole)
        #expect(trial.follower.waiting.fill.count == 12_000)
        trial.store.isFull.store(false, ordering: .relaxed)
        try trial.rounds(until: "it is stored") { $0.table.position.isWhole }
        #expect(try trial.table.count() == 12_000)
    }

    @Test("a table that becomes too old while it is filled is read again from the beginning")
    func rebuildInFill() throws {
        var trial = try FollowerTrial(runBytes: 20_000)
        try trial.subscribe((0..<12_000).map { "token-\($0)" })
        try trial.rounds(until: "something is laid aside") { !$0.follower.waiting.fill.isEmpty }
        trial.age(by: .seconds(3_601))
        try trial.follower.round()
        #expect(trial.follower.waiting.count == 0)
        try trial.rounds(until: "it is stored") { $0.table.position.isWhole }
        #expect(try trial.table.count() == 12_000)
        #expect(trial.table.position.offsets.reduce(0, +) == 12_000)
    }

    @Test("a table that is too old is rebuilt while the gate is closed, without what the topic no longer has")
    func rebuild() throws {
        var trial = try FollowerTrial()
        try trial.subscribe(["a", "b"])
        let barrier = trial.context.gate.requestBarrier()
        try trial.rounds(until: "the gate opens") { $0.context.gate.isOpen(barrier) }
        // A device whose unsubscription was missed.
        try trial.addStranger()
        #expect(try trial.table.count() == 3)
        trial.age(by: .seconds(3_601))
        try trial.follower.round()
        #expect(!trial.context.gate.isOpen(barrier))
        #expect(trial.context.readiness.reasons.contains(.tableBehind(records: nil)))
        #expect(try trial.table.hasSnapshot == false)
        #expect(!trial.table.position.isWhole)
        try trial.rounds(until: "the gate opens again") { $0.context.gate.isOpen(barrier) }
        #expect(try trial.table.count() == 2)
        #expect(trial.table.position.isWhole)
    }

    @Test("while the broker is unreachable a table that is too old stays closed, and is rebuilt when it is back")
    func brokerAway() throws {
        var trial = try FollowerTrial()
        try trial.subscribe(["a"])
        let barrier = trial.context.gate.requestBarrier()
        try trial.rounds(until: "the gate opens") { $0.context.gate.isOpen(barrier) }
        try trial.addStranger()
        let before = trial.table.position
        try trial.cluster.setBrokerDown(1)
        trial.age(by: .seconds(3_601))
        try trial.follower.round()
        try trial.follower.round()
        #expect(trial.context.gate.isLagging())
        // What is stored says how old it is, for the case that the process ends now.
        #expect(trial.table.position == before)
        try trial.cluster.setBrokerUp(1)
        try trial.rounds(until: "the gate opens again") { $0.context.gate.isOpen(barrier) }
        #expect(try trial.table.count() == 1)
    }

    @Test("the checkpoint is as old as the last answer whose ends were reached, not as its writing")
    func honestTime() throws {
        var trial = try FollowerTrial()
        try trial.subscribe(["a"])
        let barrier = trial.context.gate.requestBarrier()
        try trial.rounds(until: "the gate opens") { $0.context.gate.isOpen(barrier) }
        let asOf = ContinuousClock.now - .seconds(1_800)
        trial.age(by: .seconds(1_800))
        try trial.cluster.pushErrors(.listOffsets, Array(repeating: "REQUEST_TIMED_OUT", count: 1_000))
        try trial.subscribe(["b"])
        try trial.rounds(until: "the second one is applied") { try $0.table.count() == 2 }
        #expect(abs(trial.table.position.time - trial.context.clock.now(asOf)) < 1_000)
    }

    @Test("another number of partitions ends the process, with the sentence of a start")
    func partitions() throws {
        var trial = try FollowerTrial(partitions: 3, expected: 2)
        let error = #expect(throws: PipelineError.self) {
            try trial.rounds(until: "it ends") { _ in false }
        }
        guard case .decisionNeeded(let text) = error else {
            Issue.record("it ended with \(String(describing: error))")
            return
        }
        #expect(text.contains("had 2 partitions and now has 3: keys have moved"))
    }

    @Test("while the disk is full it reads at most one transaction's changes, the gate closes, and later it continues")
    func fullDisk() throws {
        var trial = try FollowerTrial(partitions: 3, maxLag: .seconds(1))
        let barrier = trial.context.gate.requestBarrier()
        try trial.rounds(until: "the gate opens") { $0.context.gate.isOpen(barrier) }
        trial.store.isFull.store(true, ordering: .relaxed)
        let count = 30_000
        try trial.subscribe((0..<count).map { "token-\($0)" })
        try trial.rounds(until: "it reads no more") { $0.follower.mustStore }
        let waiting = trial.follower.waiting.changes.count
        for _ in 0..<20 { try trial.follower.round() }
        #expect(trial.follower.waiting.changes.count == waiting)
        #expect(waiting < 20_000 + TableFollower.batchLimit)
        try trial.rounds(until: "the gate closes") { $0.context.gate.isLagging() }
        #expect(try trial.table.count() == 0)
        trial.store.isFull.store(false, ordering: .relaxed)
        try trial.rounds(until: "the gate opens again") { $0.context.gate.isOpen(barrier) }
        #expect(try trial.table.count() == count)
    }

    @Test("a full disk delays the reading again, too")
    func fullDiskInRebuild() throws {
        var trial = try FollowerTrial()
        try trial.subscribe(["a"])
        let barrier = trial.context.gate.requestBarrier()
        try trial.rounds(until: "the gate opens") { $0.context.gate.isOpen(barrier) }
        trial.store.isFull.store(true, ordering: .relaxed)
        trial.age(by: .seconds(3_601))
        for _ in 0..<20 { try trial.follower.round() }
        #expect(trial.context.gate.isLagging())
        trial.store.isFull.store(false, ordering: .relaxed)
        try trial.rounds(until: "the gate opens again") { $0.context.gate.isOpen(barrier) }
        #expect(try trial.table.count() == 1)
    }

    @Test("a consumer that gets nothing is replaced; where its successor gets nothing either, the process is not alive")
    func stuck() throws {
        var trial = try FollowerTrial(watch: ConsumerWatch(limit: .milliseconds(300)))
        try trial.subscribe(["a"])
        let barrier = trial.context.gate.requestBarrier()
        try trial.rounds(until: "the gate opens") { $0.context.gate.isOpen(barrier) }
        try trial.cluster.pushErrors(.fetch, Array(repeating: "REQUEST_TIMED_OUT", count: 10_000))
        try trial.subscribe(["b"])
        func recreated(_ trial: borrowing FollowerTrial) -> Int {
            trial.context.meter.reading.counts.recreatedClients
        }
        try trial.rounds(until: "the consumer is replaced") { recreated($0) == 1 }
        #expect(trial.context.host.health.liveness.isAlive)
        try trial.rounds(until: "the next one is replaced, too") { recreated($0) == 2 }
        #expect(trial.context.host.health.liveness == Liveness(stuck: ["the subscriptions table"]))
        trial.cluster.clearErrors(.fetch)
        try trial.rounds(until: "it reads on") { try $0.table.count() == 2 }
        try trial.rounds(until: "it is alive") { $0.context.host.health.liveness.isAlive }
    }
}
