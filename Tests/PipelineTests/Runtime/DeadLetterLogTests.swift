import CarillonTesting
import Notifications
import Telemetry
import TestSupport
import Testing

@testable import Pipeline

@Suite("The log's lines about dead letters")
struct DeadLetterLogTests {
    private let entries = LogEntries()
    private let deadLetter = DeadLetterPosition(.noPlace, topic: "orders.events", partition: 2, offset: 7)

    @Test("the first has a line at once, later ones at most once in 10 s, with how many there were since")
    func limited() {
        let log = DeadLetterLog(Patience(), topic: "dead")
        let logger = Logger(label: "test", sink: entries)
        let start = ContinuousClock.now
        log.committed(0, first: nil, logger, now: start)
        #expect(entries.all.isEmpty)
        log.committed(1, first: deadLetter, logger, now: start)
        log.committed(20, first: deadLetter, logger, now: start + .seconds(1))
        log.committed(0, first: nil, logger, now: start + .seconds(11))
        #expect(entries.all.count == 1)
        var next = deadLetter
        next.offset = 99
        log.committed(3, first: next, logger, now: start + .seconds(12))
        #expect(entries.all.map { $0.metadata["count"] } == ["1", "23"])
        #expect(entries.all.map { $0.metadata["record"] } == ["orders.events/2/7", "orders.events/2/99"])
        #expect(entries.all.allSatisfy { $0.level == .warning && $0.metadata["code"] == "no_place" })
        #expect(entries.all.first?.message.contains("dead has them") == true)
    }

    @Test(
        "the core remembers the first dead letter of a transaction, with its code and place, until the next one begins")
    func first() throws {
        var driver = try PipelineTestDriver()
        try driver.process(.order("o1", place: "p1"))
        var found = driver.core.firstDeadLetter
        #expect(found == nil)
        try driver.process(
            .order("o2", place: "p1"), .order("o3", place: ""), SampleRecord(key: "k", value: "{\"half\":"))
        found = driver.core.firstDeadLetter
        #expect(found == DeadLetterPosition(.noPlace, topic: "orders.events", partition: 0, offset: 2))
        try driver.process(.order("o4", place: "p1"))
        found = driver.core.firstDeadLetter
        #expect(found == nil)
    }
}
