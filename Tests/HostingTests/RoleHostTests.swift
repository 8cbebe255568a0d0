import KafkaClient
import Telemetry
import Testing

@testable import Hosting

@Suite("A role of a process")
struct RoleHostTests {
    private let logger = Logger(label: "test", level: .critical)
    private let unreachable = KafkaError(kind: .transport, recovery: .retry, name: "_TRANSPORT", message: "no route")

    @Test("while it drains, what a commit needs is tried still, and again; anything else is not begun")
    func drains() throws {
        let host = RoleHost()
        host.drain()
        var attempts = 0
        try host.untilItWorks(logger, whileDraining: true) { () throws(KafkaError) in
            attempts += 1
            if attempts == 1 { throw unreachable }
        }
        #expect(attempts == 2)
        #expect(throws: PipelineEnded.self) { try host.untilItWorks(logger) { attempts += 1 } }
        #expect(attempts == 2)
    }

    @Test("once it is to stop, nothing is tried")
    func stops() {
        let host = RoleHost()
        host.stop()
        #expect(throws: PipelineEnded.self) { try host.untilItWorks(logger, whileDraining: true) {} }
    }

    @Test("a shutdown before the start is one, and the end of a wait is no failure")
    func shutDownBefore() async throws {
        let host = RoleHost()
        host.drain()
        try await host.run { [logger] in try host.untilItWorks(logger) {} }
    }

    @Test("a cancelled task stops it")
    func cancelled() async throws {
        let host = RoleHost()
        let running = Task {
            try await host.run { [logger, unreachable] in
                try host.untilItWorks(logger, whileDraining: true) { () throws(KafkaError) in throw unreachable }
            }
        }
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        #expect(host.mustStop)
    }

    @Test("what it says of an error is explained, and its own patience ends it")
    func explained() throws {
        let host = RoleHost(patience: Patience(grace: .zero)) { error in
            var explained = error
            explained.message = "with what helps"
            return explained
        }
        #expect(try host.consider(unreachable) == "with what helps (_TRANSPORT)")
        let refused = KafkaError(kind: .authorization, recovery: .giveUp, name: "X", message: "no")
        #expect(throws: PipelineError.notAuthorized("with what helps (X)")) { try host.consider(refused) }
        #expect(try host.consider(refused, Patience()) == "with what helps (X)")
    }

    @Test("a wait that goes on, a worker and a reader without brokers: the first of them is shown until it is answered")
    func brokers() {
        let health = HealthBoard()
        health.brokersAreDown("all down", of: "worker 1")
        health.waitUnanswered("no route")
        #expect(health.away == "no route")
        health.topicAnswers()
        #expect(health.away == "no route")
        health.waitUnanswered(nil)
        #expect(health.away == nil)
        health.brokersAreDown("all down", of: "worker 1")
        health.brokersAreDown(nil, of: "worker 2")
        #expect(health.away == "all down")
        health.brokersAreDown(nil, of: "worker 1")
        #expect(health.away == nil)
    }

    @Test("whose consumer gets nothing is known until it gets something, or the role has ended")
    func stuck() {
        let health = HealthBoard()
        health.consumerIsHopeless(true, of: "lane fcm")
        health.consumerIsHopeless(false, of: "lane apns")
        #expect(health.liveness == Liveness(stuck: ["lane fcm"]))
        health.consumerIsHopeless(false, of: "lane fcm")
        #expect(health.liveness.isAlive)
        health.consumerIsHopeless(true, of: "lane fcm")
        health.clear()
        #expect(health.liveness.isAlive)
    }
}
