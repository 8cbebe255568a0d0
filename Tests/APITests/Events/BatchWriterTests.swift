import Foundation
import KafkaClient
import Synchronization
import Testing

@testable import API

/// What producers that are played do next, and what they were asked.
private final class Script: Sendable {
    enum Step: String {
        case start, begin, give, commit, abort
    }

    private struct State {
        var failures: [(step: Step, error: KafkaError)] = []
        var asked: [String] = []
        var made = 0
        var told: [KafkaError] = []
        var repeats = false
    }

    private let state = Mutex(State())
    var asked: [String] { state.withLock { $0.asked } }
    var made: Int { state.withLock { $0.made } }
    var told: [KafkaError] { state.withLock { $0.told } }

    /// The next call of a step fails.
    func fail(_ step: Step, _ kind: KafkaError.Kind, _ recovery: KafkaError.Recovery, isFatal: Bool = false) {
        let error = KafkaError(kind: kind, recovery: recovery, isFatal: isFatal, name: "", message: "\(step)")
        state.withLock { $0.failures.append((step, error)) }
    }

    func tell(_ error: KafkaError) { state.withLock { $0.told.append(error) } }

    func repeatRequests() { state.withLock { $0.repeats = true } }

    /// - Returns: the producer's number.
    fileprivate func make() -> Int {
        state.withLock { state in
            state.made += 1
            return state.made
        }
    }

    fileprivate func take(_ step: Step, of number: Int) throws(KafkaError) {
        let error = state.withLock { state -> KafkaError? in
            state.asked.append("\(number) \(step)")
            guard let index = state.failures.firstIndex(where: { $0.step == step }) else { return nil }
            return state.failures.remove(at: index).error
        }
        if let error { throw error }
    }

    fileprivate func takeRepeats() -> Bool {
        state.withLock { state in
            defer { state.repeats = false }
            return state.repeats
        }
    }
}

private struct PlayedProducer: BatchProducer, ~Copyable {
    private let script: Script
    private let number: Int
    private var given = 0

    init(_ script: Script) {
        self.script = script
        number = script.make()
    }

    var hasRepeatedRequests: Bool { script.takeRepeats() }
    mutating func start() throws(KafkaError) { try script.take(.start, of: number) }
    mutating func begin() throws(KafkaError) {
        given = 0
        try script.take(.begin, of: number)
    }
    mutating func give(_ record: ProducerRecord, to topic: String, tag: UInt64) throws(KafkaError) {
        try script.take(.give, of: number)
        given += 1
    }
    mutating func commit(deadline: Duration) throws(KafkaError) { try script.take(.commit, of: number) }
    mutating func abort(deadline: Duration) throws(KafkaError) { try script.take(.abort, of: number) }
    mutating func takePlaces() -> [UInt64: (partition: Int32, offset: Int64)] {
        Dictionary(uniqueKeysWithValues: (0..<given).map { (UInt64($0), (Int32($0), Int64(10 * $0))) })
    }
    mutating func takeFailure() -> KafkaError? { nil }
    mutating func look() {}
}

@Suite("API: batches", .timeLimit(.minutes(30))) struct BatchWriterTests {
    private let script = Script()
    private let writer = BatchWriter(topic: "t")
    private let ended = DispatchSemaphore(value: 0)

    private func start() {
        let (script, writer, ended) = (script, writer, ended)
        Thread {
            do {
                try writer.run(make: { PlayedProducer(script) }, tell: { script.tell($0) })
            } catch {
                Issue.record(error)
            }
            ended.signal()
        }.start()
        while !writer.isOpen { sched_yield() }
    }

    private func end() {
        writer.close()
        ended.wait()
    }

    /// - Returns: `written t/0/0 t/1/10`, `not written` or `unknown`.
    private func write(_ count: Int = 2, within time: Duration = .seconds(60)) -> String {
        let came = DispatchSemaphore(value: 0)
        let found = Mutex("")
        let records = [ProducerRecord](repeating: ProducerRecord(key: nil, value: [1]), count: count)
        let isTaken = writer.give(
            .init(records, deadline: .now + time) { outcome in
                found.withLock { found in
                    switch outcome {
                    case .written(let positions): found = "written " + positions.map { "\($0)" }.joined(separator: " ")
                    case .notWritten: found = "not written"
                    case .unknown: found = "unknown"
                    }
                }
                came.signal()
            })
        guard isTaken else { return "refused" }
        came.wait()
        return found.withLock { $0 }
    }

    @Test("a batch is one transaction, and each of its records has its place")
    func written() {
        start()
        #expect(write() == "written t/0/0 t/1/10")
        #expect(write(1) == "written t/0/0")
        end()
        #expect(
            script.asked == [
                "1 start", "1 begin", "1 give", "1 give", "1 commit", "1 begin", "1 give", "1 commit",
            ])
        #expect(write() == "refused")
    }

    @Test(
        "what fails before the commit was asked for is not written: it is aborted and told, and the next batch is written",
        arguments: ["begin", "give", "commit"])
    func aborted(step: String) throws {
        start()
        script.fail(try #require(Script.Step(rawValue: step)), .messageTooLarge, .abortTransaction)
        #expect(write() == "not written")
        #expect(script.asked.last == "1 abort")
        #expect(write(1) == "written t/0/0")
        end()
        #expect(script.made == 1)
        #expect(script.told.map(\.kind) == [.messageTooLarge])
    }

    @Test(
        "where nobody knows whether the commit was made the outcome is unknown: no abort follows, and the producer is replaced"
    )
    func unknown() {
        start()
        script.fail(.commit, .timedOut, .retry)
        #expect(write() == "unknown")
        #expect(write(1) == "written t/0/0")
        end()
        #expect(script.made == 2 && !script.asked.contains("1 abort"))
    }

    @Test("an abort without an end leaves nothing written, since no commit was asked for; the producer is replaced")
    func endless() {
        start()
        script.fail(.give, .queueFull, .retry)
        script.fail(.abort, .timedOut, .retry)
        #expect(write() == "not written")
        #expect(write(1) == "written t/0/0")
        end()
        #expect(script.made == 2)
    }

    @Test("whoever is fenced says so, and takes the id back with the next batch only")
    func fenced() {
        start()
        script.fail(.begin, .fenced, .recreateClient, isFatal: true)
        #expect(write() == "not written")
        #expect(write(1) == "written t/0/0")
        end()
        #expect(script.told.map(\.kind) == [.fenced])
        #expect(script.asked == ["1 start", "1 begin", "2 start", "2 begin", "2 give", "2 commit"])
    }

    @Test("a producer whose request was sent twice is replaced: a copy of it would end a later transaction")
    func repeated() {
        start()
        script.repeatRequests()
        #expect(write(1) == "written t/0/0")
        #expect(write(1) == "written t/0/0")
        end()
        #expect(script.made == 2)
    }

    @Test("what has waited too long is not begun, so many wait and no more, and a start is tried again until it works")
    func late() {
        start()
        #expect(write(1, within: .zero) == "not written")
        #expect(script.asked == ["1 start"])
        end()
        let other = BatchWriter(topic: "t")
        #expect(!other.give(.init([], deadline: .now) { _ in }), "nobody writes")
    }

    @Test("a start that Kafka does not answer is asked again, and one that fails is made anew")
    func starts() {
        script.fail(.start, .timedOut, .retry)
        script.fail(.start, .transport, .recreateClient)
        start()
        #expect(write(1) == "written t/0/0")
        end()
        #expect(script.asked.prefix(3) == ["1 start", "1 start", "2 start"])
    }
}
