import KafkaClient
import Testing

@testable import Pipeline

@Suite("What the pipeline waits for, and what ends it")
struct EnvironmentTests {
    private func error(_ kind: KafkaError.Kind) -> KafkaError {
        KafkaError(kind: kind, recovery: .retry, name: "_NAME", message: "a sentence")
    }

    @Test("an unreachable broker is waited for, with a line once in 10 s")
    func unreachableBroker() throws {
        let patience = Patience()
        let start = ContinuousClock.now
        #expect(try patience.consider(error(.transport), now: start))
        #expect(try !patience.consider(error(.transport), now: start + .seconds(9)))
        #expect(try patience.consider(error(.transport), now: start + .seconds(10)))
        #expect(try patience.consider(error(.transport), now: start + .seconds(86_400)))
    }

    @Test("a missing topic at the start ends it after 30 s with a decision to make")
    func missingTopic() throws {
        let patience = Patience()
        let start = ContinuousClock.now
        _ = try patience.consider(error(.unknownTopicOrPartition), now: start)
        _ = try patience.consider(error(.unknownTopicOrPartition), now: start + .seconds(29))
        #expect(throws: PipelineError.decisionNeeded("a sentence (_NAME)")) {
            try patience.consider(error(.unknownTopicOrPartition), now: start + .seconds(30))
        }
    }

    @Test(
        "a refused login or ACL at the start ends it after 30 s",
        arguments: [KafkaError.Kind.authentication, .authorization])
    func refusedLogin(kind: KafkaError.Kind) throws {
        let patience = Patience()
        let start = ContinuousClock.now
        _ = try patience.consider(error(kind), now: start)
        #expect(throws: PipelineError.notAuthorized("a sentence (_NAME)")) {
            try patience.consider(error(kind), now: start + .seconds(31))
        }
    }

    @Test("what went wrong after a commit is waited for")
    func midRun() throws {
        let patience = Patience()
        let start = ContinuousClock.now
        _ = try patience.consider(error(.authorization), now: start)
        patience.hasWorked()
        #expect(try patience.consider(error(.authorization), now: start + .seconds(60)))
    }

    @Test("a wrong setting of librdkafka ends it at once")
    func wrongSetting() {
        #expect(throws: PipelineError.decisionNeeded("a sentence (_NAME)")) {
            try Patience().consider(error(.configuration))
        }
    }

    private let partition = TopicPartition(topic: "orders.events", partition: 3)

    @Test("a group without a committed offset needs --from, and the partition is named")
    func noStart() {
        let error = StartRules.noStart([partition], group: "carillon")
        #expect(error.description.contains("orders.events/3"))
        #expect(error.description.contains("--from"))
    }

    @Test("a changed partition count stops it")
    func partitionCount() {
        let start = CommittedOffset(offset: Offset(5), metadata: "v1 w=1 n=6 t=1")
        #expect(throws: PipelineError.self) {
            _ = try StartRules.check(
                [3: start], partitionCounts: [.orders: 12], topics: PipelineConfiguration.Topics(), now: 99)
        }
    }

    @Test("an offset without metadata takes its watermark from now, and says so")
    func resetByHand() throws {
        let start = CommittedOffset(offset: Offset(5), metadata: "")
        let checked = try StartRules.check(
            [3: start], partitionCounts: [.orders: 6], topics: PipelineConfiguration.Topics(), now: 99)
        #expect(checked.positions[3]?.metadata.watermark == TimerWatermark(99))
        #expect(checked.reset == [3])
    }

    @Test("an offset below the log's start names the offset, the start and the records lost")
    func belowTheStart() throws {
        let problem = StartRules.rangeProblem(partition, committed: Offset(10), first: Offset(25), end: Offset(90))
        let text = try #require(problem).description
        #expect(text.contains("orders.events/3") && text.contains("10") && text.contains("25"))
        #expect(text.contains("15 records"))
    }

    @Test("an offset above the log's end is out of range, one at the end is not")
    func aboveTheEnd() {
        #expect(StartRules.rangeProblem(partition, committed: Offset(91), first: Offset(0), end: Offset(90)) != nil)
        #expect(StartRules.rangeProblem(partition, committed: Offset(90), first: Offset(0), end: Offset(90)) == nil)
    }

    @Test("fan-out waits for the barrier that was requested at the assignment")
    func gate() {
        let gate = TableGate(freshFor: .seconds(30))
        let barrier = gate.requestBarrier()
        #expect(!gate.isOpen(barrier))
        #expect(gate.isAwaited)
        gate.pass(gate.newestRequest)
        #expect(gate.isOpen(barrier))
        let later = gate.requestBarrier()
        #expect(gate.isOpen(barrier) && !gate.isOpen(later))
    }

    @Test("a second process in the same state folder is refused while the first lives")
    func stateFolder() throws {
        let path = "/tmp/carillon-\(UInt64.random(in: 0 ... .max))"
        do {
            let first = try StateFolder(path: path)
            #expect(throws: PipelineError.self) { _ = try StateFolder(path: path) }
            _ = consume first
        }
        _ = try StateFolder(path: path)
    }
}
