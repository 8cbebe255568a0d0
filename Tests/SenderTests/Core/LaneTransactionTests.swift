import Notifications
import Testing

@testable import Sender

@Suite("A lane: transactions and partitions")
struct LaneTransactionTests {
    @Test("answers outlive an aborted transaction, and nothing is sent again")
    func aborted() {
        var lane = Lane()
        lane.dispatch()
        lane.exchange(.accepted(providerID: nil), status: 200, now: 0)
        let first = lane.core.takeTransaction(now: 0)
        #expect(lane.core.takeTransaction(now: 0) == nil)
        lane.dispatch(device: 2)
        lane.exchange(.accepted(providerID: nil), status: 200, now: 1)
        lane.core.aborted()
        #expect(lane.send().isEmpty)
        let second = lane.commit()
        #expect(second.outcomes.map(\.offset) == [0, 1] && first?.outcomes == Array(second.outcomes.prefix(1)))
        #expect(second.commits.map(\.offset.offset) == [2])
    }

    @Test("an owner commits how far it may send before it reads and sends")
    func boundFirst() {
        var lane = Lane(committed: Lane.clean, isActive: false)
        #expect(!lane.core.isReading(0))
        let first = lane.core.takeTransaction(now: 0)
        #expect(first?.commits.map(\.offset.sentBelow) == [8, 8, 8, 8])
        #expect(!lane.core.isReading(0))
        lane.core.aborted()
        #expect(!lane.core.isReading(0) && lane.core.takeTransaction(now: 0) != nil)
        lane.core.committed()
        #expect(lane.core.isReading(0))
    }

    /// What an owner has left: 0 and 2 are finished, 1 and from 3 to 19 may have been sent.
    private static let unclean = LaneOffset(
        offset: 0, partitions: 3, sentBelow: 20, finished: [0b101])

    @Test("a take-over counts what it sends that may have been sent before, once; after a clean end nothing")
    func takeOver() {
        var lane = Lane(committed: Self.unclean, ends: [5, 0, 0, 0])
        for source in 0..<7 as Range<Int64> {
            #expect(lane.core.dispatch(Lane.record(.orders, source, device: UInt64(source)), now: 0) == true)
        }
        #expect(lane.core.possiblyTwice == 0)
        #expect(lane.send() == [1, 3, 4, 5, 6] && lane.core.possiblyTwice == 3)
        var other = Lane(committed: Lane.clean, ends: [5, 0, 0, 0])
        #expect(other.core.dispatch(Lane.record(.orders, 1), now: 0) == true && other.send() == [1])
        #expect(other.core.possiblyTwice == 0)
    }

    @Test("a burst goes as far as is committed, and asks for a transaction at once; nothing else does")
    func burst() {
        var lane = Lane(committed: Lane.clean)
        for device in 0..<40 as Range<UInt64> { lane.dispatch(device: device) }
        #expect(!lane.core.isUrgent)
        #expect(lane.send() == Array(0..<8) && lane.core.isUrgent)
        #expect(lane.send().isEmpty)
        let open = lane.core.takeTransaction(now: 0)
        #expect(open?.commits.map(\.offset.sentBelow) == [36])
        #expect(lane.send().isEmpty)
        lane.core.committed()
        #expect(lane.send() == Array(8..<36) && lane.core.isUrgent)
        #expect(lane.commit().commits.map(\.offset.sentBelow) == [121])
        #expect(lane.send() == Array(36..<40) && !lane.core.isUrgent)
        #expect(lane.core.takeTransaction(now: 0) == nil)
    }

    @Test("a device whose pushes are answered faster than they are committed waits for a transaction")
    func fastDevice() {
        var lane = Lane()
        for _ in 0..<6 { lane.dispatch() }
        for _ in 0..<6 { lane.exchange(.accepted(providerID: nil), status: 200, now: 0) }
        #expect(lane.core.isUrgent)
        #expect(lane.commit().outcomes.count == 2 && !lane.core.isUrgent)
        #expect(lane.send() == [2])
    }

    @Test("what waits behind its device's second cannot have been sent: a take-over does not count it")
    func takeOverOfBusyDevice() {
        var lane = Lane(committed: Self.unclean, ends: [12, 0, 0, 0])
        for source in [1] + Array(3..<12) as [Int64] {
            #expect(lane.core.dispatch(Lane.record(.orders, source), now: 0) == true)
        }
        for _ in 0..<12 {
            lane.exchange(.accepted(providerID: nil), status: 200, now: 0)
            _ = lane.commit()
        }
        #expect(lane.core.possiblyTwice == 2 && lane.core.firstUnfinished(of: .dispatch(.orders), 0) == 12)
    }

    @Test("what ends behind a push that may have been sent before, since it has expired, does not take the doubt away")
    func takeOverOfExpired() {
        var lane = Lane(committed: Self.unclean, ends: [5, 0, 0, 0])
        lane.core.setCredential(0, isReady: false, now: 0)
        #expect(lane.core.dispatch(Lane.record(.orders, 1), now: 0) == true)
        for source in 3..<5 as Range<Int64> {
            #expect(lane.core.dispatch(Lane.record(.orders, source, expiresAt: 0), now: 0) == true)
        }
        #expect(lane.commit().outcomes.map(\.outcome) == [.expired, .expired])
        lane.core.setCredential(0, isReady: true, now: 0)
        #expect(lane.send() == [1] && lane.core.possiblyTwice == 1)
    }

    @Test("what may have been sent before is counted when it goes to a retry topic: who sends it then does not know")
    func takeOverToRetry() {
        var lane = Lane(committed: Self.unclean, ends: [5, 0, 0, 0])
        lane.core.lose(0)
        let committed = [Self.unclean] + Array(repeating: Lane.clean, count: 3)
        lane.core.assign(0, committed: committed, ends: [5, 1, 0, 0])
        lane.core.recall(1, of: 0, .tier(.orders, 0), at: 0, device: 1)
        lane.core.recalled(0)
        _ = lane.commit()
        #expect(lane.core.dispatch(Lane.record(.orders, 3, device: 2), now: 0) == true)
        lane.exchange(AttemptFailure.noAnswer(mayHaveArrived: false).verdict, status: nil, now: 0)
        #expect(lane.commit().retries.map(\.record.source) == [3] && lane.core.possiblyTwice == 1)
    }

    @Test("an owner that ends before it has ended what was in doubt leaves the doubt to the next one")
    func doubtIsLeft() {
        var lane = Lane(committed: Self.unclean, ends: [5, 0, 0, 0])
        lane.core.revoke(0, now: 0)
        lane.core.tick(now: 1)
        #expect(lane.commit().commits.first?.offset.sentBelow == 5 && !lane.core.owns(0))
        lane = Lane(committed: Self.unclean, ends: [2, 0, 0, 0])
        #expect(lane.core.dispatch(Lane.record(.orders, 1), now: 0) == true)
        lane.exchange(.accepted(providerID: nil), status: 200, now: 0)
        lane.core.revoke(0, now: 0)
        lane.core.tick(now: 1)
        #expect(
            lane.commit().commits.first.map { $0.offset.sentBelow == $0.offset.offset } == true && !lane.core.owns(0))
    }

    @Test("revoked: nothing more is sent, answers are waited for, the last commit is clean")
    func revoked() {
        var lane = Lane()
        lane.dispatch()
        lane.dispatch(device: 2)
        let requests = lane.core.takeRequests(now: 0)
        lane.dispatch(device: 3)
        lane.core.revoke(0, now: 0)
        lane.core.tick(now: 1)
        #expect(lane.send(now: 1).isEmpty && !lane.core.isReading(0))
        for request in requests { _ = lane.core.answer(request.tag, .accepted(providerID: nil), status: 200, now: 2) }
        lane.core.tick(now: 3)
        let last = lane.commit(now: 3)
        #expect(last.outcomes.count == 2 && last.commits.first?.offset.offset == 2)
        #expect(
            last.commits.count == 4 && last.commits.allSatisfy { $0.offset.sentBelow == $0.offset.offset }
                && !lane.core.owns(0))
    }

    @Test("revoked with a request that gets no answer for 15 s: not clean")
    func revokedLate() {
        var lane = Lane(committed: Lane.clean)
        lane.dispatch()
        let tags = lane.core.takeRequests(now: 0).map(\.tag)
        lane.core.revoke(0, now: 0)
        for second in 1..<15 as Range<Int64> { lane.core.tick(now: .epoch + second * 1_000) }
        #expect(lane.core.takeTransaction(now: 14_000) == nil && lane.core.owns(0))
        lane.core.tick(now: 15_000)
        #expect(tags.count == 1 && lane.core.takeCancelled() == tags)
        #expect(lane.commit(now: 15_000).commits.first?.offset.sentBelow == 8 && !lane.core.owns(0))
    }

    @Test("lost: its requests are cancelled, their answers ignored, and nothing of it is written")
    func lost() {
        var lane = Lane()
        lane.dispatch()
        lane.dispatch(device: 2)
        let tags = lane.core.takeRequests(now: 0).map(\.tag)
        _ = lane.core.answer(tags[0], .accepted(providerID: nil), status: 200, now: 1)
        lane.core.lose(0)
        #expect(lane.core.takeCancelled() == [tags[1]] && lane.core.takeCancelled().isEmpty)
        #expect(lane.core.answer(tags[1], .accepted(providerID: nil), status: 200, now: 2) == nil)
        #expect(lane.core.takeTransaction(now: 3) == nil && !lane.core.isReading(0))
    }

    @Test("lost and assigned again: what could be sent before waits for its device's older ones again")
    func lostAndAssignedAgain() {
        var lane = Lane()
        lane.dispatch()
        lane.dispatch()
        lane.dispatch(device: 2)
        lane.exchange(.accepted(providerID: nil), status: 200, now: 0)
        // Now the second one of the first device could be sent. Nothing of it is committed.
        lane.core.lose(0)
        lane.core.assign(0, committed: Array(repeating: Lane.clean, count: 4), ends: [3, 0, 0, 0])
        lane.core.recalled(0)
        _ = lane.commit()
        for (source, device) in [(0, 1), (1, 1), (2, 2)] as [(Int64, UInt64)] {
            #expect(lane.core.dispatch(Lane.record(.orders, source, device: device), now: 0) == true)
        }
        #expect(lane.send() == [0, 2])
    }

    @Test("a frozen process sends nothing until a transaction that begins afterwards has committed")
    func frozen() {
        var lane = Lane()
        lane.core.tick(now: 0)
        lane.dispatch()
        lane.exchange(.accepted(providerID: nil), status: 200, now: 0)
        let before = lane.core.takeTransaction(now: 0)
        lane.dispatch(device: 2)
        lane.core.tick(now: 22_501)
        #expect(lane.send(now: 22_501).isEmpty && !lane.core.isReading(0))
        // The one that was open does not show it: it may have been sent before.
        lane.core.committed()
        #expect(before != nil && lane.send(now: 22_502).isEmpty)
        let after = lane.core.takeTransaction(now: 22_503)
        #expect(after?.commits.isEmpty == false && lane.send(now: 22_503).isEmpty)
        lane.core.committed()
        #expect(lane.send(now: 22_504) == [1])
    }

    @Test(
        "the next owner has written a copy of a push: who has not heard that it lost the partition holds it once",
        arguments: [[0, nil], [nil, 0], [0, 1]] as [[Int?]])
    func copyOfAnotherOwner(tiers: [Int?]) {
        var lane = Lane()
        var record = Lane.record(.orders, 0)
        record.size = 100
        for tier in tiers {
            if let tier {
                lane.retry(.init(tier: tier, record: record, note: RetryNote(record)), at: 0, now: 1_000_000)
            } else {
                #expect(lane.core.dispatch(record, now: 1_000_000) == true)
            }
        }
        #expect(lane.core.held.count == 1 && lane.core.heldBytes == 100)
        let requests = lane.core.takeRequests(now: 1_000_000)
        #expect(requests.map(\.record.source) == [0])
        for request in requests {
            _ = lane.core.answer(request.tag, .accepted(providerID: nil), status: 200, now: 1_000_000)
        }
        #expect(lane.commit().outcomes.map(\.offset) == [0] && lane.core.heldBytes == 0)
        for tier in tiers {
            #expect(lane.core.firstUnfinished(of: tier.map { .tier(.orders, $0) } ?? .dispatch(.orders), 0) == 1)
        }
    }

    @Test("what waits in the retry topics is recalled: a newer record waits for it, and what is finished is not")
    func recalled() {
        var lane = Lane(isActive: false)
        var core = lane.core
        core.recall(0, of: 0, .tier(.orders, 2), at: 0, device: 7)
        lane.core = core
        _ = lane.commit()
        lane.dispatch()
        lane.dispatch(device: 7)
        #expect(lane.send() == [0] && lane.readAgain().isEmpty)
        #expect(lane.commit().retries.isEmpty && lane.core.status.waiting == 1)
    }
}
