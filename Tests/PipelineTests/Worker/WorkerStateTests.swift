import KafkaClient
import NotificationPayload
import Testing

@testable import Digests
@testable import Events
@testable import Extraction
@testable import OrderState
@testable import Pipeline

@Suite("What a worker keeps in mind")
struct WorkerStateTests {
    private let metadata = OffsetMetadata(watermark: 7, partitions: 6, newestTimestamp: 100)

    private func record(_ partition: Int32, _ offset: Int64, at timestamp: Int64) -> EventRecord {
        EventRecord(
            partition: partition, offset: offset, timestamp: EventTime(milliseconds: timestamp), key: nil, value: nil)
    }

    private func owning(_ offsets: [Int32: Int64]) -> TopicPositions {
        var positions = TopicPositions()
        positions.assign(
            offsets.mapValues { CommittedPosition(offset: $0, metadata: metadata) }, partitionCount: 6)
        return positions
    }

    @Test("metadata of a committed offset comes back as it went")
    func metadataRoundTrip() {
        #expect(metadata.text == "v1 w=7 n=6 t=100")
        #expect(OffsetMetadata(parsing: metadata.text) == metadata)
    }

    @Test(
        "a split instant is in the metadata as p, and a p that cannot be read repeats the instant rather than losing it"
    )
    func splitMetadata() {
        let split = OffsetMetadata(
            watermark: TimerWatermark(7, split: 0xAB), partitions: 6, newestTimestamp: 100)
        #expect(split.text == "v1 w=7 p=00000000000000ab n=6 t=100")
        #expect(OffsetMetadata(parsing: split.text) == split)
        for p in ["ab", "00000000000000AB", "00000000000000abc", "x0000000000000ab"] {
            #expect(OffsetMetadata(parsing: "v1 w=7 p=\(p) n=6 t=100") == metadata, "\(p)")
        }
    }

    @Test("the longest metadata has 79 bytes")
    func longestMetadata() {
        let longest = OffsetMetadata(
            watermark: TimerWatermark(.min, split: .max), partitions: .max, newestTimestamp: .max)
        #expect(longest.text.utf8.count == 79 && OffsetMetadata(parsing: longest.text) == longest)
    }

    @Test("watermarks are compared as pairs, and one without p comes before every one with it")
    func watermarkOrder() {
        let ascending = [
            TimerWatermark(6, split: .max), TimerWatermark(7), TimerWatermark(7, split: 0), TimerWatermark(7, split: 5),
            TimerWatermark(7, split: .max), TimerWatermark(8), TimerWatermark(8, split: 0),
        ]
        for (first, left) in ascending.enumerated() {
            for (second, right) in ascending.enumerated() { #expect((left < right) == (first < second)) }
        }
    }

    @Test(
        "metadata that is not ours has no watermark",
        arguments: ["", "v2 w=1 n=1 t=1", "v1 w=x n=1 t=1", "v1 w=1 n=0 t=1", "v1 w=1"])
    func foreignMetadata(text: String) {
        #expect(OffsetMetadata(parsing: text) == nil)
    }

    @Test("metadata of a later minor version is read for what we know")
    func laterMetadata() {
        #expect(OffsetMetadata(parsing: "v1 w=7 n=6 t=100 x=9") == metadata)
    }

    @Test("a transaction is committed when it is old or large enough; a worker that is behind lets it grow older")
    func commitWhenDue() throws {
        let configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": "x:1"], stateDirectory: "/tmp/x", rules: try ExtractionRules())
        func isDue(events: Int = 100, hasCaughtUp: Bool, after age: Duration) -> Bool {
            let began = ContinuousClock.now
            var transaction = OpenTransaction(began: began, clock: 0)
            transaction.events = events
            transaction.hasCaughtUp = hasCaughtUp
            return transaction.isDue(configuration, now: began + age)
        }
        #expect(!isDue(hasCaughtUp: true, after: .milliseconds(49)))
        #expect(isDue(hasCaughtUp: true, after: .milliseconds(50)))
        #expect(!isDue(hasCaughtUp: false, after: .milliseconds(499)))
        #expect(isDue(hasCaughtUp: false, after: .milliseconds(500)))
        #expect(isDue(events: 20_000, hasCaughtUp: false, after: .milliseconds(1)))
    }

    @Test("a position is the last processed offset and one, whatever gaps the control records leave")
    func positionsCount() {
        var positions = owning([0: 10, 3: 0])
        positions.advance(over: record(0, 10, at: 5))
        positions.advance(over: record(0, 14, at: 200))
        var seen: [Int32: Int64] = [:]
        positions.forEachUncommitted { seen[$0] = $1.next }
        #expect(seen == [0: 15])
        #expect(positions[0].map { positions.metadata(of: $0).text } == "v1 w=7 n=6 t=200")
    }

    @Test("records that were processed before, and those of partitions of others, are not taken")
    func acceptance() {
        var positions = owning([0: 10])
        positions.advance(over: record(0, 10, at: 0))
        #expect(!positions.accepts(partition: 0, offset: 10))
        #expect(positions.accepts(partition: 0, offset: 11))
        #expect(!positions.accepts(partition: 1, offset: 11))
        #expect(!positions.accepts(partition: 99, offset: 11))
    }

    @Test("an abort goes back to what is committed, the newest timestamp included")
    func rollBack() {
        var positions = owning([0: 10])
        positions.advance(over: record(0, 10, at: 500))
        positions.commit()
        positions.advance(over: record(0, 11, at: 900))
        positions.rollBack()
        #expect(positions[0]?.next == 11)
        #expect(positions[0]?.newestTimestamp == 500)
    }

    @Test("a watermark that moves is committed without an event, and goes back with an abort")
    func watermark() {
        var positions = owning([0: 10, 1: 5])
        positions.fire(partition: 0, upTo: 90, tick: 90)
        var seen: [Int32: [Int64]] = [:]
        positions.forEachUncommitted {
            seen[$0] = [$1.committed, $1.next, $1.committedWatermark.time, $1.watermark.time]
        }
        #expect(seen == [0: [10, 10, 7, 90]])
        #expect(positions[0].map { positions.metadata(of: $0).text } == "v1 w=90 n=6 t=100")
        positions.rollBack()
        #expect(positions[0]?.watermark == 7)
        positions.fire(partition: 0, upTo: 95, tick: 95)
        positions.commit()
        positions.rollBack()
        #expect(positions[0]?.watermark == 95)
        #expect(positions[0]?.committedWatermark == 95)
    }

    @Test("with no timers of our own the watermark of what is committed moves along, and never back")
    func passedTimers() {
        var positions = owning([0: 10, 1: 5])
        positions.advance(over: record(0, 10, at: 0))
        positions.passTimers(until: 90)
        var seen: [Int32: [Int64]] = [:]
        positions.forEachUncommitted { seen[$0] = [$1.committedWatermark.time, $1.watermark.time] }
        #expect(seen == [0: [7, 90]])
        positions.rollBack()
        #expect(positions[0]?.watermark == 7)
        positions.advance(over: record(0, 10, at: 0))
        positions.passTimers(until: 3)
        #expect(positions[0]?.watermark == 7)
    }

    @Test(
        "records below the committed offset are folded, and the state is complete at one after them or at the end"
    )
    func folds() {
        var positions = TopicPositions()
        positions.assign(
            [
                0: CommittedPosition(offset: 20, metadata: metadata),
                1: CommittedPosition(offset: 5, metadata: metadata),
            ], folds: [0: 12, 1: 5], partitionCount: 6)
        #expect(positions.foldingCount == 1)
        #expect(positions.leftToFold == 8)
        #expect(!positions.isToFold(partition: 0, offset: 11))
        #expect(positions.isToFold(partition: 0, offset: 12))
        #expect(positions.isToFold(partition: 0, offset: 19))
        #expect(!positions.isToFold(partition: 0, offset: 20))
        #expect(!positions.isToFold(partition: 1, offset: 4))
        #expect(positions.fold(partition: 0, upTo: 18) == false)
        #expect(positions[0]?.isFolding == true)
        // The offsets up to 20 are control records: only the next record shows that.
        #expect(positions.fold(partition: 0, upTo: 23) == true)
        #expect(positions.foldingCount == 0)
        #expect(positions[0]?.folded == 20)
    }

    @Test("what was folded beside an open transaction goes back with it")
    func foldsRollBack() {
        var positions = TopicPositions()
        positions.assign([0: CommittedPosition(offset: 20, metadata: metadata)], folds: [0: 0], partitionCount: 6)
        _ = positions.fold(partition: 0, upTo: 8)
        positions.commitFolds()
        #expect(positions.fold(partition: 0, upTo: 20) == true)
        positions.rollBack()
        #expect(positions.committedFolds == [0: 8])
        #expect(positions.foldingCount == 1)
        #expect(positions.isToFold(partition: 0, offset: 8))
        // Behind the rewind the broker has more committed: what is folded stays.
        positions.assign(
            [0: CommittedPosition(offset: 30, metadata: metadata)], folds: positions.committedFolds, partitionCount: 6)
        #expect(positions.leftToFold == 22)
    }

    @Test("whether a range is incomplete goes by the newest timestamp at its first record")
    func newestAtFirst() {
        var positions = owning([0: 10])
        #expect(positions[0]?.newestAtFirst == 100)
        positions.advance(over: record(0, 10, at: 500))
        positions.advance(over: record(0, 11, at: 900))
        #expect(positions[0]?.newestAtFirst == 500)
        positions.commit()
        #expect(positions[0]?.newestAtFirst == 900)
        positions.advance(over: record(0, 12, at: 700))
        #expect(positions[0]?.newestAtFirst == 900)
    }

    @Test("a watermark is ahead where it is more than a minute after the clock and after the newest record")
    func aheadWatermarks() {
        func ahead(_ watermark: Int64, newest: Int64 = 0, now: Int64 = 1_000_000) -> Int64? {
            let metadata = OffsetMetadata(
                watermark: TimerWatermark(watermark), partitions: 1, newestTimestamp: newest)
            return StartRules.aheadWatermarks([3: CommittedPosition(offset: 5, metadata: metadata)], now: now)[3]
        }
        #expect(ahead(1_060_000) == nil)
        #expect(ahead(1_060_001) == 60_001)
        #expect(ahead(1_060_001, newest: 1_000_001) == nil)
        #expect(ahead(4_600_000, newest: 1_000_000) == 3_600_000)
        #expect(ahead(0) == nil)
    }

    @Test("the newest timestamp that the fold has seen is committed from then on")
    func foldedTimestamp() {
        var positions = TopicPositions()
        positions.assign([0: CommittedPosition(offset: 20, metadata: metadata)], folds: [0: 0], partitionCount: 6)
        positions.raiseNewest(partition: 0, to: 400)
        positions.raiseNewest(partition: 0, to: 300)
        positions.rollBack()
        #expect(positions[0]?.newestTimestamp == 400)
    }

    @Test("an end that took long to reach is queried again, three times at most")
    func staleTick() {
        var ticks = PendingTicks()
        ticks.pending[0] = .init(time: 10_000, end: 50, questions: 1)
        #expect(ticks.reached { [0: 49, 1: 50][$0] } == [])
        #expect(ticks.reached { [0: 50, 1: 50][$0] } == [0])
        #expect(!ticks.isStale(0, now: 12_000, tick: .seconds(1)))
        #expect(ticks.isStale(0, now: 12_001, tick: .seconds(1)))
        ticks.pending[0]?.questions = PendingTicks.mostQuestions
        #expect(!ticks.isStale(0, now: 99_000, tick: .seconds(1)))
        let start = ContinuousClock.now
        #expect(ticks.isLookDue(.seconds(1), now: start) == true)
        #expect(ticks.isLookDue(.seconds(1), now: start + .milliseconds(999)) == false)
        #expect(ticks.isLookDue(.seconds(1), now: start + .seconds(1)) == true)
    }

    @Test("slices go from partition to partition, keep their T, and end with the tick")
    func slices() {
        var ticks = PendingTicks()
        for partition: Int32 in [0, 1, 4] { ticks.pending[partition] = .init(time: 10_000, end: 5, questions: 1) }
        ticks.fired(0, upTo: TimerWatermark(9_999, split: 7))
        #expect(ticks.reached { _ in 5 } == [1, 4, 0])
        #expect(ticks.isUnderWay)
        #expect(!ticks.isStale(0, now: 99_000, tick: .seconds(1)))
        #expect(ticks.isStale(1, now: 99_000, tick: .seconds(1)))
        ticks.fired(1, upTo: 10_000)
        #expect(ticks.reached { _ in 5 } == [4, 0])
        ticks.fired(4, upTo: 10_000)
        ticks.fired(0, upTo: 10_000)
        #expect(ticks.pending.isEmpty && !ticks.isUnderWay)
    }

    @Test("a transaction that is as old as commit.interval.behind begins nothing more")
    func oldTransaction() throws {
        let configuration = PipelineConfiguration(
            kafka: [:], stateDirectory: "/tmp/x", rules: try ExtractionRules())
        let began = ContinuousClock.now
        let transaction = OpenTransaction(began: began, clock: 0)
        #expect(!transaction.isOld(configuration, now: began + .milliseconds(499)))
        #expect(transaction.isOld(configuration, now: began + .milliseconds(500)))
    }

    @Test("a wall clock that is set is noticed after a minute's difference, and ends the process after 10 minutes")
    func clockWatch() {
        var watch = ClockWatch()
        let start = ContinuousClock.now
        #expect(watch.look(drift: .seconds(-60), now: start) == .good)
        #expect(watch.look(drift: .seconds(-61), now: start) == .isOff(.seconds(-61)))
        #expect(watch.look(drift: .seconds(3_600), now: start + .seconds(599)) == .isOff(.seconds(3_600)))
        #expect(watch.look(drift: .seconds(3_600), now: start + .seconds(600)) == .staysOff(.seconds(3_600)))
        #expect(watch.look(drift: .zero, now: start + .seconds(601)) == .good)
        #expect(watch.look(drift: .seconds(90), now: start + .seconds(602)) == .isOff(.seconds(90)))
        let clock = PipelineClock(wall: 5_000, began: start)
        #expect(clock.now(start + .milliseconds(1_250)) == 6_250)
    }

    @Test("a refold says its rate and when it will be done, every 10 s")
    func refoldReport() {
        let start = ContinuousClock.now
        var report = RefoldReport(total: 1_000, now: start)
        report.add(500)
        #expect(report.line(left: 750, now: start + .seconds(9)) == nil)
        #expect(
            report.line(left: 750, now: start + .seconds(10))
                == "folds the state of orders: 50 records/s, 750 offsets left, ready in about 30 s")
        #expect(report.line(left: 700, now: start + .seconds(11)) == nil)
        report.add(300)
        #expect(report.end(now: start + .seconds(20)) == "the state of orders is complete: 800 records in 20 s")
    }

    @Test("what is committed is not committed again")
    func nothingToCommit() {
        var positions = owning([0: 10])
        positions.advance(over: record(0, 10, at: 0))
        positions.commit()
        var moved = 0
        positions.forEachUncommitted { _, _ in moved += 1 }
        #expect(moved == 0)
    }

    @Test("the tag of a record leads back to its event")
    func eventTags() {
        for source in SourceKind.allCases {
            let event = EventCoordinates(SourcePartition(source, 513), offset: 1 << 45)
            #expect(EventTag.coordinates(EventTag.make(event)) == event)
        }
        #expect(EventTag.coordinates(EventTag.none) == nil)
    }

    private static var topics: PipelineConfiguration.Topics {
        var topics = PipelineConfiguration.Topics()
        topics.dispatch = "d"
        return topics
    }

    private let origin = JournalEntry.Origin(
        group: "shop \"a\"", cluster: "c-1", topics: Self.topics, rules: "abc")

    private func text(of entry: JournalEntry, _ origin: JournalEntry.Origin) -> String {
        var text = ByteWriter()
        entry.append(to: &text, origin: origin)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    @Test("the journal entry says whose it is, ranges, watermarks, clock, table and rules, in this order")
    func journal() {
        var entry = JournalEntry()
        entry.ranges = [
            JournalEntry.Range(
                partition: 0, from: 5, to: 9,
                first: RecordFingerprint(offset: 6, timestamp: 77, key: StoredHash(number: 1)),
                isIncomplete: true, watermarkBefore: TimerWatermark(1, split: 2), watermarkAfter: 2, until: 3),
            JournalEntry.Range(
                partition: 3, from: 1, to: 2,
                first: RecordFingerprint(offset: 1, timestamp: nil, key: nil as StoredHash?),
                watermarkBefore: 3, watermarkAfter: TimerWatermark(3, split: 4), until: 9),
            JournalEntry.Range(partition: 4, from: 1, to: 1, watermarkBefore: 3, watermarkAfter: 3),
        ]
        entry.clock = 1_725_707_721_000
        entry.table = [12, 0]
        let expected =
            #"{"v":2,"group":"shop \"a\"","cluster":"c-1","dispatch":"d","#
            + #""ranges":[{"topic":"orders.events","partition":0,"from":5,"to":9,"first":{"offset":6,"timestamp":77,"key":"0000000000000001"},"incomplete":true},"#
            + #"{"topic":"orders.events","partition":3,"from":1,"to":2,"first":{"offset":1,"timestamp":null,"key":null}},"#
            + #"{"topic":"orders.events","partition":4,"from":1,"to":1}],"#
            + #""watermarks":[{"topic":"orders.events","partition":0,"before":1,"before_p":"0000000000000002","after":2,"until":3},"#
            + #"{"topic":"orders.events","partition":3,"before":3,"after":3,"after_p":"0000000000000004","until":9},"#
            + #"{"topic":"orders.events","partition":4,"before":3,"after":3}],"#
            + #""clock":1725707721000,"table":[12,0],"rules":"abc"}"#
        #expect(text(of: entry, origin) == expected)
    }

    @Test("a journal entry of a user's own resolver has no table, and one of an unknown cluster no cluster")
    func journalWithoutTable() {
        var origin = origin
        origin.cluster = nil
        #expect(text(of: JournalEntry(), origin).contains(#""table":null"#))
        #expect(text(of: JournalEntry(), origin).contains(#""cluster":null"#))
    }

    @Test("the first record of a transaction is remembered, until it is committed or aborted")
    func firstRecord() {
        var positions = owning([0: 10])
        for _ in 0..<2 {
            positions.advance(over: record(0, 12, at: 500))
            positions.advance(over: record(0, 13, at: 600))
            #expect(positions[0]?.first == RecordFingerprint(offset: 12, timestamp: 500, key: nil as StoredHash?))
            positions.rollBack()
            #expect(positions[0]?.first == nil)
        }
        positions.fire(partition: 0, upTo: 90, tick: 95)
        #expect(positions[0]?.tickTime == 95)
        positions.commit()
        #expect(positions[0]?.tickTime == nil)
    }

    @Test("the third fencing within 10 minutes is one too many, the third within an hour is not")
    func fencings() {
        var fencings = Fencings()
        let start = ContinuousClock.now
        var verdicts: [Bool] = []
        for seconds in [0, 700, 1_200, 1_250] { verdicts.append(fencings.isTooMany(now: start + .seconds(seconds))) }
        #expect(verdicts == [false, false, false, true])
    }

    @Test("a static member that was fenced within a minute of a lost contact may have done it itself")
    func ownDoing() {
        var fencings = Fencings()
        let start = ContinuousClock.now
        #expect(!fencings.mayBeOwnDoing(now: start))
        fencings.noteLostContact(now: start)
        #expect(fencings.mayBeOwnDoing(now: start + .seconds(59)))
        #expect(!fencings.mayBeOwnDoing(now: start + .seconds(60)))
    }

    @Test(
        "a lost contact explains one fencing, and as many as there are: brokers that restart one by one end no worker")
    func explainedOnce() {
        var fencings = Fencings()
        let start = ContinuousClock.now
        var verdicts: [Bool] = []
        for seconds in [0, 20, 40, 60] {
            fencings.noteLostContact(now: start + .seconds(seconds))
            verdicts.append(fencings.mayBeOwnDoing(now: start + .seconds(seconds + 5)))
            fencings.noteNewConsumer()
        }
        #expect(verdicts == [true, true, true, true])
        #expect(!fencings.mayBeOwnDoing(now: start + .seconds(66)))
    }

    @Test(
        "a call that got no answer counts as lost contact, before the consumer has been heard of it",
        arguments: [(.timedOut, true), (.transport, true), (.allBrokersDown, true), (.fenced, false), (.other, false)]
            as [(KafkaError.Kind, Bool)])
    func unansweredCall(kind: KafkaError.Kind, isLostContact: Bool) {
        var fencings = Fencings()
        fencings.consider(KafkaError(kind: kind, recovery: .abortTransaction, name: "", message: ""))
        #expect(fencings.mayBeOwnDoing() == isLostContact)
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
