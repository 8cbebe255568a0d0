import Notifications
import Testing

@testable import Broadcasts

@Suite("Why a device got a broadcast, or did not") struct BroadcastTraceTests {
    private static let group = "carillon-broadcasts"
    /// The devices' hashes are one repeated byte.
    private static func hash(_ byte: UInt8) -> [UInt8] { Array(repeating: byte, count: 32) }

    private let subject = BroadcastTrace.Subject(
        offset: 12, time: 1_000, publishedAt: 1_000, expiresAt: 9_000, endedAt: nil)

    /// The device 5 in partition 7, with `max-age` 500.
    private func trace(
        _ versions: [BroadcastTrace.Version], endedAt: WallTime? = nil, _ entries: [BroadcastJournalEntry] = []
    ) -> BroadcastTrace {
        var subject = subject
        subject.endedAt = endedAt
        var trace = BroadcastTrace(
            subject, group: Self.group, partition: 7, device: Self.hash(5), versions: versions, maxAge: 500)
        for entry in entries { trace.note(entry) }
        return trace
    }

    private func live(_ offset: Int64, seen: WallTime? = nil) -> BroadcastTrace.Version {
        .init(offset: offset, isLive: true, lastSeen: seen)
    }

    private func rotated(_ offset: Int64, at time: WallTime) -> BroadcastTrace.Version {
        .init(offset: offset, isLive: true, rotatedAt: time)
    }

    private func gone(_ offset: Int64) -> BroadcastTrace.Version { .init(offset: offset, isLive: false) }

    private func entry(
        _ range: Range<Int64>, clock: WallTime, after: UInt8? = nil, before: UInt8? = nil,
        end: BroadcastJournalEntry.Slice.End? = nil, hasPass: Bool = true, late: Int = 0, broadcast: Int64 = 12,
        group: String = group
    ) -> BroadcastJournalEntry {
        var entry = BroadcastJournalEntry(group: group, cluster: nil, dispatch: "d", rules: "0f")
        entry.clock = clock
        entry.ranges = [
            .init(topic: "s", partition: 6, from: 0, to: 900),
            .init(topic: "s", partition: 7, from: range.lowerBound, to: range.upperBound),
        ]
        let subject = BroadcastJournalEntry.Subject(
            partition: 7, broadcast: broadcast, notificationID: "1", messageID: "m")
        if hasPass {
            entry.passes = [
                .init(
                    subject: subject, joinedBelow: 100, keyBefore: before.map(Self.hash),
                    keyAfter: after.map(Self.hash),
                    end: end)
            ]
        }
        if late > 0 { entry.late = [.init(subject: subject, sent: late)] }
        return entry
    }

    private func committed(_ offset: Int64, broadcast: Int64) -> BroadcastOffset {
        BroadcastOffset(offset: offset, partitions: 8, time: 0, broadcast: broadcast)
    }

    private var whole: BroadcastJournalEntry { entry(100..<100, clock: 2_000, end: .done) }

    @Test("who joined before the pass gets it from the slice that has its hash, and from no other")
    func slices() {
        let versions = [live(99)]
        let first = entry(100..<100, clock: 2_000, after: 4)
        let second = entry(100..<110, clock: 3_000, after: 5, before: 4)
        let third = entry(110..<120, clock: 4_000, before: 5, end: .done)
        #expect(trace(versions, [first]).fates(committed: nil) == [.notReached])
        #expect(trace(versions, [first, second, third]).fates(committed: nil) == [.sent(clock: 3_000)])
        let whole = trace(versions, [first, entry(100..<100, clock: 3_000, before: 4, end: .done)])
        #expect(whole.fates(committed: nil) == [.sent(clock: 3_000)])
        let other = trace(versions, [entry(100..<100, clock: 2_000, end: .done, broadcast: 11)])
        #expect(other.fates(committed: nil) == [.waiting])
        #expect(
            trace(versions, [entry(100..<100, clock: 2_000, end: .done, group: "x")]).fates(committed: nil) == [
                .waiting
            ])
    }

    @Test("the record at the pass's own offset joins later")
    func border() {
        #expect(trace([live(99)], [whole]).fates(committed: nil) == [.sent(clock: 2_000)])
        #expect(trace([live(100)], [whole]).fates(committed: nil) == [.joiningNotRead])
        let late = entry(100..<101, clock: 3_000, hasPass: false, late: 1)
        #expect(trace([live(100)], [whole, late]).fates(committed: nil) == [.sentLate(clock: 3_000)])
    }

    @Test("a refresh is no joining")
    func refresh() {
        #expect(trace([live(50), live(150)], [whole]).fates(committed: nil) == [.sent(clock: 2_000)])
    }

    @Test("who left before its turn gets nothing from the pass; who came back joined later")
    func left() {
        let first = entry(100..<110, clock: 2_000, after: 4)
        let second = entry(110..<120, clock: 3_000, before: 4, end: .done)
        #expect(trace([live(50), gone(105)], [first, second]).fates(committed: nil) == [.left(clock: 3_000)])
        #expect(trace([live(50), gone(110)], [first, second]).fates(committed: nil) == [.sent(clock: 3_000)])
        let back = trace(
            [live(50), gone(104), live(105)], [entry(100..<110, clock: 2_000, after: 4, late: 1), second])
        #expect(back.fates(committed: nil) == [.left(clock: 3_000), .sentLate(clock: 2_000)])
        #expect(trace([live(50), gone(60)], [whole]).fates(committed: nil) == [.notSubscribed])
        #expect(trace([], [whole]).fates(committed: nil) == [.notSubscribed])
    }

    @Test("who joined later and had left again, as far as that was known, gets nothing")
    func joinedAndLeft() {
        let versions = [live(105), gone(112)]
        let later = entry(100..<110, clock: 3_000, hasPass: false, late: 1)
        #expect(trace(versions, [whole, later]).fates(committed: nil) == [.sentLate(clock: 3_000)])
        for (ahead, to) in [(113, 110), (nil, 113)] as [(Int64?, Int64)] {
            var known = entry(100..<to, clock: 3_000, hasPass: false, late: 1)
            known.ranges[1].ahead = ahead
            #expect(trace(versions, [whole, known]).fates(committed: nil) == [.left(clock: 3_000)])
        }
    }

    @Test("who was seen too long before the publication gets nothing, by the pass or later")
    func stale() {
        #expect(trace([live(50, seen: 499)], [whole]).fates(committed: nil) == [.stale(lastSeen: 499)])
        #expect(trace([live(50, seen: 500)], [whole]).fates(committed: nil) == [.sent(clock: 2_000)])
        let late = entry(100..<110, clock: 3_000, hasPass: false, late: 1)
        #expect(trace([live(105, seen: 499)], [whole, late]).fates(committed: nil) == [.stale(lastSeen: 499)])
        let refreshed = trace([live(50, seen: 400), live(60, seen: 900)], [whole])
        #expect(refreshed.fates(committed: nil) == [.sent(clock: 2_000)])
    }

    @Test(
        "a pass that ended before its turn says why",
        arguments: [BroadcastJournalEntry.Slice.End.cancelled, .expired, .failed])
    func ended(_ end: BroadcastJournalEntry.Slice.End) {
        let first = entry(100..<100, clock: 2_000, after: 4)
        let fates = trace([live(50)], [first, entry(100..<100, clock: 3_000, before: 4, end: end)]).fates(
            committed: nil)
        #expect(fates == [.ended(end, clock: 3_000)])
        let reached = trace(
            [live(50)], [entry(100..<100, clock: 2_000, after: 5), entry(100..<100, clock: 3_000, before: 5, end: end)])
        #expect(reached.fates(committed: nil) == [.sent(clock: 2_000)])
    }

    @Test("a joiner whose transaction has nothing of it: expired, over, or beyond max-late")
    func joiners() {
        func fates(clock: WallTime, endedAt: WallTime? = nil) -> [BroadcastTrace.Fate] {
            let late = entry(100..<110, clock: clock, hasPass: false)
            return trace([live(105)], endedAt: endedAt, [whole, late]).fates(committed: nil)
        }
        #expect(fates(clock: 9_000) == [.joinedAfterExpiry(clock: 9_000)])
        #expect(fates(clock: 8_999) == [.beyondMostLate(clock: 8_999)])
        #expect(fates(clock: 5_000, endedAt: 5_000) == [.joinedAfterEnd(clock: 5_000)])
        #expect(fates(clock: 5_000, endedAt: 5_001) == [.beyondMostLate(clock: 5_000)])
    }

    @Test("a rotation gets what is published since, or under way, and nothing else, whatever others get beside it")
    func rotation() {
        let over = entry(100..<110, clock: 3_000, hasPass: false, late: 1)
        func fates(_ time: WallTime, _ entries: BroadcastJournalEntry...) -> [BroadcastTrace.Fate] {
            trace([rotated(105, at: time)], entries).fates(committed: nil)
        }
        #expect(fates(1_001, whole, over) == [.rotated(clock: 3_000)])
        #expect(fates(1_000, whole, over) == [.sentLate(clock: 3_000)])
        let begun = entry(100..<100, clock: 2_000, after: 4)
        #expect(fates(1_001, begun, over) == [.sentLate(clock: 3_000)])
        #expect(fates(1_001, entry(100..<110, clock: 2_000, after: 4, late: 1)) == [.sentLate(clock: 2_000)])
        #expect(fates(1_001, entry(100..<110, clock: 2_000, end: .done, late: 1)) == [.rotated(clock: 2_000)])
        let expired = entry(100..<110, clock: 9_000, hasPass: false)
        #expect(fates(1_001, whole, expired) == [.joinedAfterExpiry(clock: 9_000)])
        let refreshed = trace([live(50), rotated(105, at: 1_001)], [whole, over])
        #expect(refreshed.fates(committed: nil) == [.sent(clock: 2_000)])
        let passed = trace([rotated(50, at: 1_001)], [entry(40..<60, clock: 3_000, hasPass: false, late: 1)])
        #expect(passed.fates(committed: committed(60, broadcast: 13)) == [.rotated(clock: 3_000)])
    }

    @Test("without a pass: it waits, was skipped, or the group is past it")
    func withoutPass() {
        let versions = [live(50)]
        #expect(trace(versions).fates(committed: nil) == [.waiting])
        #expect(trace(versions).fates(committed: committed(90, broadcast: 12)) == [.waiting])
        #expect(trace([live(50), gone(60)]).fates(committed: nil) == [.notSubscribed])
        #expect(trace(versions).fates(committed: committed(90, broadcast: 13)) == [.passed])
        #expect(trace(versions).fates(committed: committed(50, broadcast: 13)) == [.joiningNotRead])
        let late = entry(40..<60, clock: 3_000, hasPass: false, late: 1)
        #expect(trace(versions, [late]).fates(committed: committed(60, broadcast: 13)) == [.sentLate(clock: 3_000)])
        var skipped = entry(90..<90, clock: 3_000, hasPass: false)
        skipped.skipped = [.init(partition: 7, broadcast: 12, notificationID: nil, reason: .expired)]
        #expect(trace(versions, [skipped]).fates(committed: nil) == [.skipped(.expired)])
    }
}
