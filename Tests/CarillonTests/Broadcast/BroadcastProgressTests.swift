import Notifications
import Testing

@testable import Broadcasts
@testable import carillon

@Suite("How far a broadcast has got") struct BroadcastProgressTests {
    @Test("what is committed says where each partition is")
    func committed() {
        let progress = BroadcastProgress.sample(committed: [
            0: .at(broadcast: 13), 1: .at(broadcast: 12, isUnderWay: true), 2: .at(broadcast: 12),
        ])
        #expect(progress.stage(of: 0) == .passed)
        #expect(progress.stage(of: 1) == .underWay)
        #expect(progress.stage(of: 2) == .waiting)
        #expect(progress.stage(of: 3) == .waiting, "it has no commit")
        #expect(progress.stages == .init(waiting: 2, underWay: 1, without: 1))
        let earlier = BroadcastProgress.sample(committed: [0: .at(broadcast: 11, isUnderWay: true)])
        #expect(earlier.stage(of: 0) == .waiting, "the pass is another broadcast's")
    }

    @Test("the journal says more than what was committed a moment before")
    func journalFirst() {
        let progress = BroadcastProgress.sample(
            committed: [0: .at(broadcast: 12), 1: .at(broadcast: 12, isUnderWay: true)],
            [.of([.of(0, devices: 5, sent: 2), .of(1, devices: 3, sent: 3, end: .done)])])
        #expect(progress.stage(of: 0) == .underWay)
        #expect(progress.stage(of: 1) == .ended(.done))
    }

    @Test("slices of a pass are added, in whichever order the journal's partitions are read")
    func sums() {
        let slices: [BroadcastJournalEntry.Slice] = [
            .of(0, devices: 10, sent: 4, stale: 1), .of(0, sent: 3, end: .done),
            .of(1, devices: 6, sent: 2, end: .cancelled), .of(0, broadcast: 11, devices: 7, sent: 7, end: .done),
        ]
        var late = BroadcastJournalEntry.of()
        late.late = [.init(subject: slices[0].subject, sent: 2), .init(subject: slices[3].subject, sent: 9)]
        for entries in [slices, slices.reversed()] {
            let progress = BroadcastProgress.sample(entries.map { .of([$0]) } + [late])
            #expect(progress.reached == 9)
            #expect(progress.stale == 1)
            #expect(progress.countedDevices == 16)
            #expect(progress.left == 2, "10 devices, 7 reached, 1 stale; those of a cancelled pass have not left")
            #expect(progress.late == 2)
            #expect(progress.stages == .init(waiting: 2, done: 1, stopped: 1))
        }
    }

    @Test("entries of another group do not count")
    func otherGroup() {
        let progress = BroadcastProgress.sample([.of([.of(0, devices: 10, sent: 4)], group: "other")])
        #expect(progress.reached == 0 && progress.stage(of: 0) == .waiting)
    }

    @Test("a partition that was skipped has no pass")
    func skipped() {
        var entry = BroadcastJournalEntry.of()
        entry.skipped = [
            .init(partition: 2, broadcast: 12, notificationID: nil, reason: .deadLetter),
            .init(partition: 3, broadcast: 11, notificationID: nil, reason: .expired),
        ]
        let progress = BroadcastProgress.sample([entry])
        #expect(progress.stage(of: 2) == .skipped(.deadLetter))
        #expect(progress.stages == .init(waiting: 3, without: 1, failed: 1))
    }

    @Test("partitions that wait are assumed to have as many devices as the others; without any there is no estimate")
    func estimate() {
        #expect(BroadcastProgress.sample().waitingDevices == nil)
        #expect(BroadcastProgress.sample().remaining == nil)
        let some = BroadcastProgress.sample([
            .of([.of(0, devices: 10, sent: 10, end: .done), .of(1, devices: 20, sent: 4, stale: 1)])
        ])
        #expect(some.waitingDevices == 30, "two partitions of 15")
        #expect(some.remaining == 30 + 15)
        let all = BroadcastProgress.sample(
            (0..<4).map { .of([.of($0, devices: 5, sent: 5, end: .done)]) })
        #expect(all.waitingDevices == 0 && all.remaining == 0)
    }

    @Test("the rate is that of the last minute of what was sent; one transaction has none, and an old one either")
    func rate() {
        let one = BroadcastProgress.sample([.of([.of(0, devices: 90, sent: 9)], clock: 5_000)])
        #expect(one.rate(now: publication + 6_000) == nil)
        let progress = BroadcastProgress.sample([
            .of([.of(0, sent: 300)], clock: 90_000), .of([.of(0, sent: 100)], clock: 80_000),
            .of([.of(0, devices: 9_000, sent: 5_000)], clock: 10_000),
        ])
        #expect(progress.rate(now: publication + 91_000) == 30, "300 in 10 s")
        #expect(progress.rate(now: publication + 150_000) == 30)
        #expect(progress.rate(now: publication + 150_001) == nil)
    }
}
