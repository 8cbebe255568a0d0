import Foundation
import HTTPServer
import KafkaClient
import Pipeline
import Synchronization
import Telemetry
import Testing

@testable import API
@testable import Replay

@Suite("API: reads of topics", .timeLimit(.minutes(30))) struct TopicReadsTests {
    private let call = Call(IncomingRequest(method: "GET", target: "/", headers: []), id: "req_1")
    private let reads = TopicReads(logger: Logger(label: "test"))

    /// Begins what waits until the gate is opened.
    private func occupy(_ count: Int, _ gate: DispatchSemaphore) {
        for _ in 0..<count { #expect(reads.begin { _ in gate.wait() }) }
    }

    private func answer(_ read: @escaping @Sendable (TopicReads.Turn) throws -> HTTPResponse) throws -> HTTPResponse {
        guard case .later(_, _, let begin) = try reads.reply(to: call, read) else { return HTTPResponse(body: "now") }
        let came = DispatchSemaphore(value: 0)
        let given = Mutex<HTTPResponse?>(nil)
        begin { response in
            given.withLock { $0 = response }
            came.signal()
        }
        came.wait()
        return try #require(given.withLock { $0 })
    }

    private func untilIdle() {
        while !reads.isIdle { sched_yield() }
    }

    @Test("four are read at a time, a fifth is refused at once, and one that has ended makes room")
    func most() throws {
        let gate = DispatchSemaphore(value: 0)
        occupy(TopicReads.most, gate)
        #expect(!reads.begin { _ in })
        let refused = #expect(throws: Problem.self) { try answer { _ in HTTPResponse(body: "") } }
        #expect(refused?.code == .overloaded)
        for _ in 0..<TopicReads.most { gate.signal() }
        untilIdle()
        #expect(try answer { _ in HTTPResponse(body: "read") }.body == "read")
    }

    @Test("a problem is the answer; of what else ends a read the client hears no detail")
    func failures() throws {
        let known = try answer { _ in throw Problem(.notFound, "not there") }
        #expect(known.status == .notFound)
        let stopped = try answer { _ in throw ReadingStopped() }
        #expect(stopped.status == .serviceUnavailable && stopped.body.contains("not-yet"))
        let replayStopped = try answer { _ in throw ReplayStopped() }
        #expect(replayStopped.body == stopped.body)
        let tooMuch = try answer { _ in throw TooMuchToRead() }
        #expect(tooMuch.status == .conflict && tooMuch.body.contains("allowed are 100000 records and 256 MiB"))
        let refused = try answer { _ in throw ReplayRefusal("keys have moved") }
        #expect(refused.body.contains("\"code\":\"incomplete\"") && refused.body.contains("keys have moved"))
        let missing = try answer { _ in
            var error = KafkaError(
                kind: .unknownTopicOrPartition, recovery: .retry, name: "", message: "", operation: "metadata")
            error.topics = ["notifications.deliveries"]
            throw error
        }
        #expect(missing.status == .conflict && missing.body.contains("there is no topic notifications.deliveries"))
        let other = try answer { _ in throw PipelineError.decisionNeeded("broker-7:9092") }
        #expect(other.status == .serviceUnavailable && !other.body.contains("broker-7"))
        untilIdle()
    }

    @Test("at the end what is being read is told to stop, and nothing begins")
    func end() {
        let ended = DispatchSemaphore(value: 0)
        let begun = reads.begin { turn in
            while !turn.isStopped { sched_yield() }
            ended.signal()
        }
        #expect(begun)
        reads.end()
        ended.wait()
        #expect(!reads.begin { _ in })
        untilIdle()
    }
}
