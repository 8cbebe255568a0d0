import Dispatch
import KafkaClient
import Synchronization
import Testing

@testable import API

/// What became of the records that were given, by their numbers.
private final class Writing: Sendable {
    private let played: PlayedWriter
    private let outcomes = Mutex<[Int: DeliveryReport.Outcome]>([:])
    private let came = DispatchSemaphore(value: 0)

    init(_ cluster: MockCluster, timeout: Duration = .seconds(30)) throws {
        played = try PlayedWriter(cluster, topic: "t", timeout: timeout)
    }

    func give(_ number: Int, size: Int = 10) -> Bool {
        let value = [UInt8](repeating: 1, count: size)
        return played.writer.give(
            RecordWriter.Entry(topic: "t", record: ProducerRecord(key: nil, value: value, partition: 0)) { outcome in
                self.outcomes.withLock { $0[number] = outcome }
                self.came.signal()
            })
    }

    func take(_ count: Int) -> [Int: DeliveryReport.Outcome] {
        for _ in 0..<count { came.wait() }
        return outcomes.withLock { $0 }
    }

    func end() { played.end() }
}

@Suite("API: single records", .timeLimit(.minutes(30))) struct RecordWriterTests {
    private let cluster: MockCluster

    init() throws {
        cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 1)
    }

    @Test("each record has its own place, whoever gives it, and the end waits for all")
    func positions() throws {
        let writing = try Writing(cluster)
        let refused = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 1000) { number in
            if !writing.give(number) { refused.add(1, ordering: .relaxed) }
        }
        writing.end()
        #expect(!writing.give(1000))
        let offsets = writing.take(1000).values.map { outcome -> Int64? in
            if case .written(0, let offset) = outcome { offset } else { nil }
        }
        #expect(Set(offsets) == Set(0..<1000) && refused.load(ordering: .relaxed) == 0)
    }

    @Test("a record lingers for two milliseconds, and one that waits for another is written after it")
    func lingering() throws {
        #expect(RecordWriter.settings(.seconds(30))["linger.ms"] == "2")
        let writing = try Writing(cluster)
        for number in 0..<100 {
            #expect(writing.give(number))
            guard case .written? = writing.take(1)[number] else {
                Issue.record("\(number) is not written")
                return
            }
        }
        writing.end()
    }

    @Test("four batches are under way, until every record of one has its outcome")
    func batches() {
        var batches = OpenBatches()
        for batch in [0, 0, 2, 3, 3, 3] as [UInt64] { batches.add(to: batch) }
        #expect(!batches.isFull)
        batches.add(to: 6)
        #expect(batches.isFull)
        for batch in [0, 3, 3] as [UInt64] { batches.remove(from: batch) }
        #expect(batches.isFull)
        batches.remove(from: 3)
        #expect(!batches.isFull)
    }

    @Test("a record that the broker refuses was not written, and the next one is")
    func refused() throws {
        let writing = try Writing(cluster)
        try cluster.pushErrors(.produce, ["INVALID_RECORD"])
        #expect(writing.give(0))
        guard case .notWritten? = writing.take(1)[0] else {
            Issue.record("it is not known to be refused")
            return
        }
        #expect(writing.give(1))
        let second = writing.take(1)[1]
        guard case .written? = second else {
            Issue.record("the next one is not written: \(String(describing: second))")
            return
        }
        writing.end()
    }

    @Test(
        "while the broker is away there is room for so many, each has its outcome in time, and then there is room again"
    )
    func away() throws {
        let writing = try Writing(cluster, timeout: .milliseconds(1500))
        try cluster.setBrokerDown(1)
        var given = 0
        while writing.give(given) { given += 1 }
        #expect(given == RecordWriter.mostEntries)
        let outcomes = writing.take(given)
        for outcome in outcomes.values {
            if case .written = outcome { Issue.record("nobody can have written it") }
        }
        try cluster.setBrokerUp(1)
        #expect(writing.give(given))
        _ = writing.take(1)
        writing.end()
    }
}
