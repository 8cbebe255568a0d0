import KafkaClient
import Testing

@testable import Hosting

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
