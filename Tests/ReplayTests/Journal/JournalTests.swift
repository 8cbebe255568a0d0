import CarillonTesting
import Digests
import Notifications
import Pipeline
import TestSupport
import Testing

@testable import Replay

@Suite("The journal, read again")
struct JournalTests {
    private let coordinates = Coordinates(partition: 1, offset: 2)

    private func read(_ text: String) throws(JournalProblem) -> [JournalStep] {
        let parser = JournalParser(topics: ToyPipeline.topics)
        let result = Array(text.utf8).withUnsafeBytes { bytes in
            Result { () throws(JournalProblem) in try parser.read(bytes, at: coordinates) }
        }
        return try result.get()
    }

    @Test("the test driver writes a valid journal: transactions join, and timers record when they fired")
    func driver() throws {
        var driver = try PipelineTestDriver()
        try driver.process(.order("o1", place: "p1", status: "pending", slot: "2025-07-07 14:00-16:00"))
        try driver.process(.order("o2", place: "p1"), .order("o3", place: "p1"))
        try driver.advanceClock(by: .seconds(7 * 3_600))
        let steps = try driver.journal.flatMap { try read($0) }
        #expect(steps.map { [$0.from, $0.to] } == [[0, 1], [1, 3], [3, 3]])
        #expect(steps.map { $0.first?.offset } == [0, 1, nil] && steps.map(\.hasTick) == [false, false, true])
        #expect(steps.last?.clock == driver.clock && steps.last?.until == driver.clock)
        #expect(steps.allSatisfy { $0.group == "carillon" && $0.table == [0] && !$0.isIncomplete })
    }

    private static let entry = """
        {"v":2,"group":"carillon","cluster":"abc","dispatch":"notifications.dispatch","ranges":[{"topic":"orders.events",\
        "partition":3,"from":10,"to":15,"first":{"offset":11,"timestamp":1751897700000,"key":"00112233aabbccdd"},\
        "incomplete":true},{"topic":"orders.events","partition":4,"from":7,"to":7},{"topic":"other","partition":3,"from":1,\
        "to":1}],"watermarks":[{"topic":"other","partition":3,"before":2,"after":2},{"topic":"orders.events","partition":3,\
        "before":5,"after":5},{"topic":"orders.events","partition":4,"before":8,"before_p":"0000000000000005","after":8,\
        "after_p":"ffffffffffffffff","until":20}],"clock":77,"table":[3,0],"rules":"0123456789abcdef"}
        """

    @Test("ranges of requests are those of their topic, beside the partition of the same number of the events")
    func requests() throws {
        let text = Self.entry.replacing("other", with: "notifications.requests")
        let steps = try read(text)
        #expect(steps.map(\.partition) == [3, 4, SourcePartition(.requests, 3)])
        #expect(steps.last?.from == 1 && steps.last?.watermarkAfter == TimerWatermark(2) && steps.last?.clock == 77)
        let index = try journal(of: "carillon")
        try index.append(steps)
        for step in steps {
            var cursor = try index.cursor(of: step.partition, in: 0..<100)
            #expect(try cursor.next()?.step == step && cursor.next() == nil)
        }
        let planner = ReplayPlanner(journal: index, isCut: true)
        let input = try planner.plan([SourcePartition(.requests, 0): 0..<5])
        #expect(input.approximations == ["partition 0 of the requests: there is no journal of it by group carillon"])
    }

    @Test("an entry names its group, its first record, and a split instant; another topic's ranges are passed over")
    func entry() throws {
        let first = RecordFingerprint(offset: 11, timestamp: 1_751_897_700_000, key: StoredHash("00112233aabbccdd"))
        let (before, after) = (TimerWatermark(8, split: 5), TimerWatermark(8, split: .max))
        let expected = [
            JournalStep(
                partition: 3, from: 10, to: 15, watermarkBefore: TimerWatermark(5), watermarkAfter: TimerWatermark(5),
                clock: 77, table: [3, 0], rules: "0123456789abcdef", group: "carillon", cluster: "abc",
                dispatch: "notifications.dispatch", first: first, isIncomplete: true, coordinates: coordinates),
            JournalStep(
                partition: 4, from: 7, to: 7, watermarkBefore: before, watermarkAfter: after, until: 20, clock: 77,
                table: [3, 0], rules: "0123456789abcdef", group: "carillon", cluster: "abc",
                dispatch: "notifications.dispatch", coordinates: coordinates),
        ]
        #expect(try read(Self.entry) == expected && expected[1].hasTick && !expected[0].hasTick)
        #expect(try read(Self.entry.replacing("[3,0]", with: "null")).first?.table == nil)
        let bare = Self.entry.replacing(#""abc""#, with: "null").replacing("1751897700000", with: "null")
            .replacing(#""00112233aabbccdd""#, with: "null")
        let found = try #require(try read(bare).first)
        #expect(
            found.cluster == nil && found.first == RecordFingerprint(offset: 11, timestamp: nil, key: StoredHash?.none))
        let index = try journal(of: "carillon")
        try index.append(expected)
        var kept: [JournalStep] = []
        for partition: SourcePartition in [3, 4] {
            var cursor = try index.cursor(of: partition, in: 0..<100)
            while let (step, _) = try cursor.next() { kept.append(step) }
        }
        #expect(kept == expected)
    }

    @Test("an entry that contradicts itself is refused, and the plan says where it is and what is wrong")
    func malformed() throws {
        let wrong = [
            (#","until":20"#, "", "the watermark of orders.events/4 moves without a time"),
            (#""offset":11"#, #""offset":15"#, "the first record of orders.events/3 is outside its range"),
            (#""from":7,"to":7"#, #""from":8,"to":7"#, "the range of orders.events/4 is none"),
            (#"{"topic":"orders.events","partition":3,"before":5,"after":5},"#, "", "orders.events/3 has no watermark"),
        ]
        for (part, other, sentence) in wrong {
            #expect(throws: JournalProblem.malformed(sentence)) { try read(Self.entry.replacing(part, with: other)) }
        }
        let index = try journal()
        try index.append([step(0, 10)])
        index.note(.malformed("group is missing"), at: coordinates)
        index.note(.malformed("it is not JSON"), at: Coordinates(partition: 1, offset: 3))
        #expect(
            try ReplayPlanner(journal: index, isCut: false).plan([0: 0..<10]).notes
                == ["2 records of the journal cannot be read, the first at 1/2: group is missing"])
    }

    @Test("entries of another version are refused, and the refusal says what to do", arguments: [1, 3])
    func versions(number: Int) throws {
        let index = try journal()
        let text = Self.entry.replacing(#""v":2"#, with: #""v":\#(number)"#)
        let problem = try #require(throws: JournalProblem.self) { try read(text) }
        #expect(problem == .anotherVersion)
        try index.append([step(0, 10)])
        index.note(problem, at: coordinates)
        let refusal = try #require(throws: ReplayRefusal.self) {
            try ReplayPlanner(journal: index, isCut: false).plan([0: 0..<10])
        }
        #expect(
            refusal.description == "1 records of the journal were written by another version of carillon, and may be "
                + "about any range: use that version, delete them with kafka-delete-records.sh, or take --no-journal")
    }

    private func step(
        _ from: Int64, _ to: Int64, before: TimerWatermark = TimerWatermark(0), after: TimerWatermark? = nil,
        partition: SourcePartition = 0, group: String = "a", dispatch: String = "d"
    ) -> JournalStep {
        JournalStep(
            partition: partition, from: from, to: to, watermarkBefore: before, watermarkAfter: after ?? before,
            until: after?.time, clock: 1, table: from == 0 ? nil : [from, 3], rules: "r", group: group,
            dispatch: dispatch, coordinates: Coordinates(partition: 0, offset: from))
    }

    private func journal(of group: String = "a") throws -> JournalIndex {
        try JournalIndex(Scratch(), group: group)
    }

    @Test("the slices of an instant come in their order, before the transaction that continued from there")
    func slices() throws {
        let split = { TimerWatermark(9, split: $0) }
        let steps = [
            step(0, 5, before: TimerWatermark(4), after: TimerWatermark(9)),
            step(5, 5, before: TimerWatermark(9), after: split(0)), step(5, 5, before: split(0), after: split(7)),
            step(5, 5, before: split(7), after: split(.max)),
            step(5, 8, before: split(.max), after: TimerWatermark(10)),
            step(8, 8, before: TimerWatermark(10), after: TimerWatermark(11)),
        ]
        #expect(steps.allSatisfy { $0.hasTick })
        var random = SeededGenerator(seed: 2)
        for _ in 0..<10 {
            let index = try journal()
            try index.append(steps.shuffled(using: &random))
            var cursor = try index.cursor(of: 0, in: 0..<100)
            var found: [JournalStep] = []
            while let (step, lane) = try cursor.next() {
                #expect(lane == 0)
                found.append(step)
            }
            #expect(found == steps)
        }
    }

    @Test("a group that writes to the same dispatch topic is found, and only if it has processed the range")
    func sharing() throws {
        let index = try journal()
        try index.append([
            step(0, 50, group: "a", dispatch: "one"), step(50, 90, group: "a", dispatch: "one"),
            step(40, 60, group: "b", dispatch: "one"), step(0, 90, group: "c", dispatch: "two"),
        ])
        let planner = ReplayPlanner(journal: index, isCut: false)
        var input = try planner.plan([0: 0..<100])
        #expect(input.groupsSharing("one") == ["b"] && input.groupsSharing("two") == ["c"])
        #expect(input.lanes == 1 && input.steps == 2)
        let refusal = try #require(throws: ReplayRefusal.self) { try input.checkIsAlone(in: "one") }
        #expect(refusal.description.contains("b wrote to one for the same events as a"))
        input.selected = [0: 0..<100]
        #expect(throws: ReplayRefusal.self) { try input.checkRedrive(to: "one", includingSent: true) }
        var other = try planner.plan([0: 0..<40])
        other.selected = [0: 0..<40]
        try other.checkRedrive(to: "one", includingSent: false)
        // What the group itself has sent elsewhere is not in this topic.
        #expect(throws: ReplayRefusal.self) { try other.checkRedrive(to: "three", includingSent: false) }
        try other.checkRedrive(to: "three", includingSent: true)
    }

    @Test("what the pipeline did with incomplete state is approximate, and is not re-driven")
    func incomplete() throws {
        let index = try journal()
        var steps = [step(10, 50), step(50, 70), step(70, 90), step(90, 99)]
        for at in [1, 2] { steps[at].isIncomplete = true }
        try index.append(steps)
        let planner = ReplayPlanner(journal: index, isCut: false)
        var input = try planner.plan([0: 10..<99])
        #expect(
            input.approximations.count == 1 && input.approximations[0].contains("partition 0: from offset 50 to 90"))
        for (range, isRefused): (Range<Int64>, Bool) in [
            (10..<50, true), (10..<49, false), (60..<61, true), (90..<99, false),
        ] {
            input.selected = [0: range]
            #expect(input.isIncomplete == isRefused, "\(range)")
            let refusal = Result { try input.checkRedrive(to: "d", includingSent: false) }
            #expect((try? refusal.get()) == nil ? isRefused : !isRefused, "\(range)")
        }
        #expect(try !planner.plan([0: 10..<50]).isApproximate)
    }

    @Test("only a different record at the named offset contradicts the journal")
    func contradiction() {
        let memory = Memory()
        func record(_ offset: Int64, _ time: WallTime?, _ key: String?) -> EventRecord {
            EventRecord(
                partition: 0, offset: offset, timestamp: time,
                key: key.map { memory.copy($0) }, value: nil)
        }
        var step = step(50, 70)
        #expect(!step.contradicts(record(50, 1, "k")))
        step.first = RecordFingerprint(offset: 52, timestamp: 1, key: memory.copy("k"))
        #expect(!step.contradicts(record(52, 1, "k")) && !step.contradicts(record(53, 1, "other")))
        for other in [record(52, 2, "k"), record(52, nil, "k"), record(52, 1, "l"), record(52, 1, nil)] {
            #expect(step.contradicts(other))
        }
    }

    @Test("steps come by offset and watermark, more of them than a block has, and each partition's are its own")
    func order() throws {
        let index = try journal()
        var steps: [JournalStep] = []
        for number in 0..<3_000 {
            let at = Int64(number)
            steps.append(step(at, at, before: TimerWatermark(-7), after: TimerWatermark(5 + at)))
            steps.append(step(at, at + 1, before: TimerWatermark(5 + at)))
        }
        var random = SeededGenerator(seed: 1)
        try index.append(steps.shuffled(using: &random) + [step(0, 9, partition: 1), step(0, 9, partition: 256)])
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

    @Test("ranges that were processed twice are distinguished, and so are gaps")
    func lanes() throws {
        let index = try journal()
        try index.append([step(0, 50), step(50, 120), step(100, 130), step(130, 210), step(120, 200), step(260, 300)])
        let survey = try index.survey(of: 0, in: 0..<1_000)
        #expect(survey.lanes.map(\.from) == [0, 100] && survey.lanes.map(\.to) == [300, 210])
        #expect(survey.skipped == 50 && survey.withoutTable == 1 && survey.oldestTable == [50, 3])
        let part = try index.survey(of: 0, in: 55..<100)
        #expect(part.steps == 1 && part.first == 50)
    }

    @Test("a table that nothing had been read into yet is older than every other one")
    func emptyTable() throws {
        let index = try journal()
        let tables: [[Int64]] = [[4, 3], [], [5, 3]]
        for (number, table) in tables.enumerated() {
            var step = step(Int64(number), Int64(number) + 1)
            step.table = table
            try index.append([step])
        }
        #expect(try index.survey(of: 0, in: 0..<1).oldestTable == [4, 3])
        #expect(try index.survey(of: 0, in: 0..<9).oldestTable == [])
    }

    @Test(
        "what is before the first entry is left out and called approximate: the journal may be younger than the group")
    func createdAgain() throws {
        let index = try journal()
        try index.append([step(40, 50), step(50, 120)])
        let planner = ReplayPlanner(journal: index, isCut: false)
        for range: Range<Int64> in [10..<200, 0..<40, 0..<20] {
            var input = try planner.plan([0: range])
            #expect(input.isApproximate && input.spans.allSatisfy { $0.approximateBelow == 0 }, "\(range)")
            #expect(input.done.values.allSatisfy { $0.isEmpty || $0.lowerBound == 40 }, "\(range)")
            input.selected = [0: range]
            #expect(input.lacksJournal, "\(range)")
        }
        #expect(try !planner.plan([0: 40..<200]).isApproximate)
        #expect(try !planner.plan([0: 130..<200]).isApproximate)
    }

    @Test("the range of expired journal entries is approximate")
    func planning() throws {
        let index = try journal()
        try index.append([step(40, 50), step(50, 120)])
        let lost = try ReplayPlanner(journal: index, isCut: true).plan([0: 10..<200])
        #expect(lost.isApproximate && lost.spans.first?.approximateBelow == 40 && lost.done == [0: 10..<120])
        let whole = try ReplayPlanner(journal: index, isCut: false).plan([0: 45..<200])
        #expect(!whole.isApproximate && whole.spans.map(\.foldFrom) == [40] && whole.done == [0: 45..<120])
        #expect(try ReplayPlanner(journal: index, isCut: false).plan([0: 130..<200]).spans.isEmpty)
        let none = try ReplayPlanner(journal: index, isCut: false).plan([7: 0..<5])
        #expect(none.isApproximate && none.done == [7: 0..<5])
    }
}
