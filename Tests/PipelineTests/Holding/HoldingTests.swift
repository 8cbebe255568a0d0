import Foundation
import KafkaClient
import TestSupport
import Testing

@testable import Pipeline

@Suite("Which partitions are read after ends for lack of memory")
struct HoldingTests {
    private static let a = TopicPartition(topic: "orders.events", partition: 0)
    private static let b = TopicPartition(topic: "orders.events", partition: 1)
    private static let table = TopicPartition(topic: "notifications.subscriptions", partition: 0)
    private static let now = ContinuousClock.now
    private static let ends = [a: Int64(100), b: Int64(100), table: Int64(100)]

    /// The start of a process of one worker with both partitions, which begins at these offsets.
    private struct Start {
        var holding: Holding
        /// What is read.
        private(set) var read: Set<TopicPartition> = []

        init(
            after notes: MemoryNotes = MemoryNotes(), passed: PassedBatches = PassedBatches(),
            at offsets: [TopicPartition: Int64] = [a: 10, b: 20], as reader: Holding.Reader = .worker(0)
        ) {
            holding = Holding(notes, passed)
            _ = holding.start()
            begin(at: offsets, as: reader)
        }

        /// Locates and takes until that is right.
        mutating func begin(at offsets: [TopicPartition: Int64], as reader: Holding.Reader = .worker(0)) {
            repeat {
                read = holding.enter(reader, offsets.keys.sorted(), now: HoldingTests.now)
            } while !holding.take(
                reader, offsets.filter { read.contains($0.key) }, ends: HoldingTests.ends, now: HoldingTests.now)
        }

        /// - Returns: whether it has to begin again.
        mutating func reach(
            _ offsets: [TopicPartition: Int64], bytes: Int = 0, as reader: Holding.Reader = .worker(0),
            after time: Duration = .zero
        ) -> Bool {
            holding.reached(
                reader, offsets.mapValues { Holding.Progress(offset: $0, reached: $0) }, bytes: bytes, isReading: true,
                now: HoldingTests.now + time)
        }

        /// It dies while it waits here, as the file remembers it.
        mutating func die(at offsets: [TopicPartition: Int64]) -> MemoryNotes {
            holding.grew(.worker(0), offsets)
            return MemoryNotes(holding.notes.text)
        }
    }

    /// So many processes have died at offset 10 of the first partition.
    private func notes(_ deaths: Int, at position: RecordPosition = RecordPosition(a, 10)) -> MemoryNotes {
        MemoryNotes("\(deaths) - \(position.partition.topic) \(position.partition.partition) \(position.offset)\n")
    }

    @Test("after the first death everything is read, after the second one partition alone, after the third it is held")
    func three() {
        var first = Start()
        #expect(first.read == [Self.a, Self.b])
        var second = Start(after: first.die(at: [Self.a: 10, Self.b: 20]))
        #expect(second.read == [Self.a, Self.b])
        #expect(second.holding.current == nil)
        var third = Start(after: second.die(at: [Self.a: 10, Self.b: 20]))
        #expect(third.read == [Self.a])
        #expect(third.holding.current == Self.a)
        let fourth = Start(after: third.die(at: [Self.a: 10]))
        #expect(fourth.holding.held == [Self.a: 10])
        #expect(fourth.read == [Self.b], "the other one died beside it twice, and has its turn")
        #expect(fourth.holding.current == Self.b)
    }

    @Test("an end without growing memory counts nothing, however often")
    func ordinary() {
        var notes = MemoryNotes()
        for _ in 0..<10 {
            var process = Start(after: notes)
            #expect(process.read == [Self.a, Self.b])
            #expect(process.reach([Self.a: 10, Self.b: 20]) == false)
            notes = MemoryNotes(process.holding.notes.text)
        }
        #expect(notes == MemoryNotes())
    }

    @Test("what arrives takes the evidence back, and an end in order as well")
    func evidence() {
        var process = Start()
        _ = process.die(at: [Self.a: 10])
        process.holding.arrived(.worker(0))
        #expect(process.holding.notes == MemoryNotes())
        _ = process.die(at: [Self.a: 10])
        process.holding.end()
        #expect(process.holding.notes == MemoryNotes())
    }

    @Test("a partition that was waited for in vain at another place begins to count anew")
    func anotherPosition() {
        var process = Start(after: notes(1), at: [Self.a: 11, Self.b: 20])
        #expect(process.holding.notes == MemoryNotes())
        let next = Start(after: process.die(at: [Self.a: 11]), at: [Self.a: 11, Self.b: 20])
        #expect(next.holding.notes.deaths(at: RecordPosition(Self.a, 11)) == 1)
        #expect(next.holding.current == nil)
    }

    @Test("a death in its turn counts on at the exact place, which may be behind the one that was noted")
    func exact() {
        var process = Start(after: notes(2))
        #expect(process.reach([Self.a: 13], bytes: 1_000) == false)
        let next = Start(after: process.die(at: [Self.a: 13]), at: [Self.a: 13, Self.b: 20])
        #expect(next.holding.held == [Self.a: 13])
        #expect(next.read == [Self.b])
    }

    @Test(
        "a turn is over at the partition's end, and after 64 MiB, and the next partition follows",
        arguments: [true, false])
    func turns(isAtEnd: Bool) {
        let notes = MemoryNotes("2 - orders.events 0 10\n2 - orders.events 1 20\n")
        var process = Start(after: notes)
        #expect(process.read == [Self.a])
        #expect(process.reach([Self.a: 30], bytes: 1 << 20) == false)
        let isOver =
            isAtEnd ? process.reach([Self.a: 100], bytes: 0) : process.reach([Self.a: 31], bytes: Holding.turnBytes)
        #expect(isOver)
        process.begin(at: [Self.a: 31, Self.b: 20])
        #expect(process.read == [Self.b])
        #expect(process.reach([Self.b: 100]) == true)
        process.begin(at: [Self.a: 31, Self.b: 100])
        #expect(process.read == [Self.a, Self.b])
        #expect(process.holding.isActive == false)
    }

    @Test("a turn in which nothing arrives for a minute is over")
    func patience() {
        var process = Start(after: notes(2))
        #expect(process.reach([Self.a: 10]) == false)
        #expect(process.reach([Self.a: 10], after: .seconds(59)) == false)
        process.holding.grew(.worker(0), [Self.a: 10])
        #expect(process.reach([Self.a: 10], after: .seconds(61)) == false, "a bomb may take longer on a busy machine")
        process.holding.arrived(.worker(0))
        #expect(process.reach([Self.a: 10], after: .seconds(61)) == true)
    }

    @Test("what is held stays so over an end in order, and is read where somebody has moved the group")
    func stays() {
        var process = Start(after: notes(3))
        #expect(process.read == [Self.b])
        process.holding.end()
        let next = Start(after: MemoryNotes(process.holding.notes.text))
        #expect(next.read == [Self.b])
        let moved = Start(after: MemoryNotes(process.holding.notes.text), at: [Self.a: 11, Self.b: 20])
        #expect(moved.read == [Self.a, Self.b])
    }

    @Test("a partition that begins before the place where it is held is read up to there, alone")
    func before() {
        var process = Start(after: notes(3, at: RecordPosition(Self.a, 15)))
        #expect(process.read == [Self.a])
        #expect(process.reach([Self.a: 14], bytes: Holding.turnBytes) == false)
        #expect(process.reach([Self.a: 15], bytes: 1_000) == true)
        process.begin(at: [Self.a: 15, Self.b: 20])
        #expect(process.holding.held == [Self.a: 15])
        #expect(process.read == [Self.b])
    }

    @Test("a batch that was passed is not held, and the table stops before it where it is read again")
    func passing() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try PassedBatches.add(Self.a, 10...12, in: folder.path)
        try PassedBatches.add(Self.table, 50...50, in: folder.path)
        let passed = PassedBatches(in: folder.path)
        #expect(passed.ranges == [Self.a: [10...12], Self.table: [50...50]])
        var process = Start(after: notes(3), passed: passed)
        #expect(process.holding.held.isEmpty)
        #expect(process.read == [Self.a])
        #expect(process.reach([Self.a: 100]) == true)
        var again = Start(passed: passed, at: [Self.table: 0], as: .follower)
        #expect(again.holding.current == Self.table)
        #expect(again.reach([Self.table: 49], bytes: Holding.turnBytes, as: .follower) == false)
        #expect(again.reach([Self.table: 50], as: .follower) == true)
        again.begin(at: [Self.table: 50], as: .follower)
        #expect(again.read == [Self.table])
    }

    @Test("the subscriptions have their turn before the workers, and are read during the workers' turns")
    func table() {
        let notes = MemoryNotes("2 - orders.events 0 10\n2 - notifications.subscriptions 0 5\n")
        var holding = Holding(notes)
        func enter(_ reader: Holding.Reader, _ partitions: [TopicPartition]) -> Set<TopicPartition> {
            holding.enter(reader, partitions, now: Self.now)
        }
        #expect(enter(.follower, [Self.table]) == [Self.table])
        #expect(enter(.worker(0), [Self.a, Self.b]) == [])
        let isRight = holding.take(.follower, [Self.table: 5], ends: Self.ends, now: Self.now)
        #expect(isRight)
        let end = Holding.Progress(offset: 100, reached: 100)
        let mustBegin = holding.reached(.follower, [Self.table: end], bytes: 0, isReading: true, now: Self.now)
        #expect(!mustBegin)
        #expect(holding.current == Self.a)
        #expect(enter(.worker(0), [Self.a, Self.b]) == [Self.a])
    }

    @Test("the file says what it was given, and lines that are none of it are left out")
    func file() {
        let text = "2 - orders.events 0 10\n1 growing orders.events 1 20\n"
        #expect(MemoryNotes(text).text == text)
        #expect(MemoryNotes("x\n\n1 growing orders.events\n" + text + "9 maybe a 0 1\n2 - a").text == text)
    }

    @Test("memory grows by what no wait explains: neither what arrives nor what a wait does not last")
    func growth() {
        var growth = MemoryGrowth()
        growth.waits(at: 0)
        growth.ended(at: 60 << 20, received: 0)
        #expect(!growth.isEvident)
        growth.waits(at: 500 << 20)
        growth.ended(at: 505 << 20, received: 0)
        #expect(growth.isEvident, "what was taken between two waits does not count, and does not end it")
        growth.waits(at: 505 << 20)
        growth.ended(at: 505 << 20, received: 0)
        #expect(growth.isEvident, "a wait in which nothing is taken does not give back what was")
        growth.waits(at: 505 << 20)
        growth.ended(at: 506 << 20, received: 300 << 20)
        #expect(!growth.isEvident)
        growth.waits(at: 0)
        growth.ended(at: 63 << 20, received: 0)
        growth.waits(at: 0)
        growth.ended(at: 0, received: 0)
        growth.waits(at: 0)
        growth.ended(at: 63 << 20, received: 0)
        #expect(!growth.isEvident)
    }

    @Test("the process's memory is known, and grows with what it takes")
    func memory() {
        #expect(ProcessMemory.anonymous() > 1 << 20)
        // Other tests may free memory at the same time: one of several arrays has to show.
        let isSeen = (0..<20).contains { _ in
            let before = ProcessMemory.anonymous()
            let bytes = [UInt8](repeating: 7, count: 64 << 20)
            return withExtendedLifetime(bytes) { ProcessMemory.anonymous() - before > 48 << 20 }
        }
        #expect(isSeen)
    }
}
