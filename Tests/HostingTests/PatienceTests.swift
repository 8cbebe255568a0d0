import KafkaClient
import Testing

@testable import Hosting

@Suite("What a role waits for, and what ends it")
struct PatienceTests {
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

    @Test("two refusals a month apart do not end a worker that has no partitions and never commits")
    func refusalsApart() throws {
        let patience = Patience()
        let start = ContinuousClock.now
        for day in 0..<30 { _ = try patience.consider(error(.authentication), now: start + .seconds(day * 86_400)) }
        // Ten minutes without a refusal are enough; then each begins the 30 s anew.
        let again = start + .seconds(30 * 86_400)
        _ = try patience.consider(error(.authentication), now: again)
        _ = try patience.consider(error(.authentication), now: again + .seconds(29))
        _ = try patience.consider(error(.authentication), now: again + .seconds(629))
        #expect(throws: PipelineError.self) {
            try patience.consider(error(.authentication), now: again + .seconds(659))
        }
    }

    @Test("refusals that come again and again end it, however far apart below ten minutes")
    func steadyRefusals() throws {
        let patience = Patience()
        let start = ContinuousClock.now
        _ = try patience.consider(error(.authorization), now: start)
        #expect(throws: PipelineError.self) {
            try patience.consider(error(.authorization), now: start + .seconds(599))
        }
    }

    @Test("a wrong setting of librdkafka ends it at once")
    func wrongSetting() {
        #expect(throws: PipelineError.decisionNeeded("a sentence (_NAME)")) {
            try Patience().consider(error(.configuration))
        }
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

    @Test("the backoff doubles from 100 ms to 10 s, and a reset restarts it")
    func backoff() {
        var backoff = Backoff()
        var waits: [Int64] = []
        for _ in 0..<9 { waits.append(backoff.next().wholeMilliseconds) }
        #expect(waits == [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000])
        backoff.reset()
        let first = backoff.next()
        #expect(first == .milliseconds(100))
    }
}
