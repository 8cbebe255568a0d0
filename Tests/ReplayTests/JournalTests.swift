import Pipeline
import StateStore
import TestSupport
import Testing

@testable import Replay

@Suite("Issue 7, 2: the journal, read again")
struct JournalTests {
    @Test("a record is read as it is written, and another topic's ranges are passed over")
    func roundTrip() throws {
        let text = """
            {"ranges":[{"topic":"orders.events","partition":3,"from":10,"to":12},{"topic":"other","partition":3,"from":1,"to":2},\
            {"topic":"orders.events","partition":4,"from":7,"to":7}],"watermarks":[{"partition":3,"before":5,"after":5},\
            {"partition":4,"before":5,"after":9}],"clock":77,"table":[3,0],"rules":"0123456789abcdef"}
            """
        var parser = JournalParser(topic: "orders.events")
        let place = Coordinates(partition: 1, offset: 2)
        let steps = Array(text.utf8).withUnsafeBytes { parser.steps($0, at: place) }
        #expect(steps?.count == 2)
        #expect(steps?.first?.table == [3, 0] && steps?.first?.hasTick == false && steps?.first?.place == place)
        #expect(steps?.last?.hasTick == true && steps?.last?.from == 7 && steps?.last?.clock == 77)
        let own = Array(text.replacing("[3,0]", with: "null").utf8).withUnsafeBytes { parser.steps($0, at: place) }
        #expect(own?.first?.table == nil)
        for broken in ["", "{}", "[]", #"{"ranges":[{"partition":1}],"watermarks":[],"clock":1,"rules":""}"#] {
            #expect(Array(broken.utf8).withUnsafeBytes { parser.steps($0, at: place) } == nil, "\(broken)")
        }
    }

    private func step(_ from: Int64, _ to: Int64, before: Int64 = 0, after: Int64 = 0, partition: Int32 = 0)
        -> JournalStep
    {
        JournalStep(
            partition: partition, from: from, to: to, watermarkBefore: before, watermarkAfter: after, clock: 1,
            table: from == 0 ? nil : [from, 3], rules: "r", place: Coordinates(partition: 0, offset: from))
    }

    @Test("steps come by offset and watermark, more of them than a block has, and each partition's are its own")
    func order() throws {
        let index = JournalIndex(store: MemoryStore())
        var steps: [JournalStep] = []
        for number in 0..<3_000 {
            let at = Int64(number)
            steps.append(step(at, at, before: -7, after: 5 + at))
            steps.append(step(at, at + 1, before: 5 + at, after: 5 + at))
        }
        var random = SeededGenerator(seed: 1)
        try index.append(steps.shuffled(using: &random) + [step(0, 9, partition: 1), step(0, 9, partition: 256)])
        try index.flush()
        var cursor = try index.cursor(of: 0, in: 0..<Int64.max)
        var found: [JournalStep] = []
        while let (step, lane) = try cursor.next() {
            #expect(lane == 0)
            found.append(step)
        }
        // The timers at offset 0 come before everything.
        #expect(found == Array(steps.dropFirst()))
        #expect(try index.survey(of: 1, in: 0..<4).steps == 1)
    }

    @Test("ranges that were done twice are told apart, and so are gaps")
    func lanes() throws {
        let index = JournalIndex(store: MemoryStore())
        try index.append([step(0, 50), step(50, 120), step(100, 130), step(130, 210), step(120, 200), step(260, 300)])
        try index.flush()
        let survey = try index.survey(of: 0, in: 0..<1_000)
        #expect(survey.lanes.map(\.from) == [0, 100] && survey.lanes.map(\.to) == [300, 210])
        #expect(survey.skipped == 50 && survey.withoutTable == 1 && survey.oldestTable == [50, 3])
        let part = try index.survey(of: 0, in: 55..<100)
        #expect(part.steps == 1 && part.first == 50)
    }

    @Test("a table that nothing had been read into yet is older than every other one")
    func emptyTable() throws {
        let index = JournalIndex(store: MemoryStore())
        let tables: [[Int64]] = [[4, 3], [], [5, 3]]
        for (number, table) in tables.enumerated() {
            var step = step(Int64(number), Int64(number) + 1)
            step.table = table
            try index.append([step])
        }
        try index.flush()
        #expect(try index.survey(of: 0, in: 0..<1).oldestTable == [4, 3])
        #expect(try index.survey(of: 0, in: 0..<9).oldestTable == [])
    }

    @Test("what is missing at the beginning is approximate, unless the journal is whole")
    func planning() throws {
        let index = JournalIndex(store: MemoryStore())
        try index.append([step(40, 50), step(50, 120)])
        try index.flush()
        let lost = try ReplayPlanner(journal: index, isJournalWhole: false).plan([0: 10..<200])
        #expect(lost.isApproximate && lost.spans.first?.approximateBelow == 40 && lost.done == [0: 10..<120])
        let whole = try ReplayPlanner(journal: index, isJournalWhole: true).plan([0: 10..<200])
        #expect(!whole.isApproximate && whole.spans.map(\.foldFrom) == [40] && whole.notes.count == 1)
        #expect(try ReplayPlanner(journal: index, isJournalWhole: true).plan([0: 130..<200]).spans.isEmpty)
        let none = try ReplayPlanner(journal: index, isJournalWhole: true).plan([7: 0..<5])
        #expect(none.isApproximate && none.done == [7: 0..<5])
    }
}

@Suite("Issue 7, 2: whether the subscriptions as of an event are still known")
struct SubscriptionLogTests {
    /// Records as (offset, whether it is younger than the compaction's lag).
    private func log(_ records: [(Int64, Bool)], _ range: Range<Int64>) -> SubscriptionLog {
        var log = SubscriptionLog(bounds: [0: range], youngFrom: 1_000)
        for (offset, isYoung) in records { log.note(partition: 0, offset: offset, timestamp: isYoung ? 2_000 : 500) }
        log.finish(bounds: [0: range])
        return log
    }

    private func isExact(_ log: SubscriptionLog, _ position: Int64) -> Bool {
        log.problem(at: [position], topic: "s", lag: 0) == nil
    }

    @Test("where nothing is missing everything is exact, however old")
    func whole() {
        let log = log([(0, false), (1, false), (2, true)], 0..<3)
        #expect((0...3).allSatisfy { isExact(log, $0) })
        #expect(log.problem(at: [], topic: "s", lag: 0) == nil)
    }

    @Test("where something is missing it is exact behind the last old record, and behind a gap that follows one")
    func compacted() {
        let log = log([(3, false), (4, false), (9, true), (11, true)], 0..<12)
        #expect(!isExact(log, 4) && !isExact(log, 8) && isExact(log, 9) && isExact(log, 12))
        #expect(log.problem(at: [], topic: "s", lag: 0)?.contains("stood at offset 0") == true)
        let young = self.log([(0, false), (1, true), (5, true)], 0..<6)
        #expect(!isExact(young, 0) && isExact(young, 1) && isExact(young, 3))
        let end = self.log([(1, false)], 0..<8)
        #expect(!isExact(end, 2) && isExact(end, 8))
    }

    @Test("a topic that begins later, or has another number of partitions, is refused")
    func cut() {
        #expect(!isExact(log([(5, true)], 5..<6), 6))
        #expect(log([(0, true)], 0..<1).problem(at: [1, 1], topic: "s", lag: 0)?.contains("partitions") == true)
    }
}
