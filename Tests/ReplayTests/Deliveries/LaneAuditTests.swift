import Deliveries
import Subscriptions
import Testing

@testable import Replay

@Suite("Each record that a lane has finished has one outcome, or waits in a retry topic")
struct LaneAuditTests {
    private static func offset(_ offset: Int64, _ finished: [UInt8] = []) -> LaneOffset {
        LaneOffset(offset: offset, partitions: 1, lanes: LaneMap.standard.hash, isClean: false, finished: finished)
    }

    /// An audit of offsets 0 to 99 of partition 0, with one retry topic.
    private func audit(
        fcm: LaneOffset = offset(100), tier: LaneOffset? = offset(0), judgesBeginnings: Bool = true, mostListed: Int = 9
    ) -> LaneAudit {
        LaneAudit(
            topic: "notifications.dispatch", map: .standard,
            commits: ["fcm": .init(dispatch: [0: fcm], tiers: [tier.map { [0: $0] } ?? [:]])], ranges: [0: 0..<100],
            judgesBeginnings: judgesBeginnings, mostListed: mostListed)
    }

    private func place(_ offset: Int64) -> Coordinates { Coordinates(partition: 0, offset: offset) }

    @Test("finished with an outcome is fine, without one is lost, and what is not finished is not judged")
    func lost() throws {
        // 0 to 9 are finished, and of those above 12.
        var audit = audit(fcm: Self.offset(10, [0b100]))
        for offset in [0, 2, 12] as [Int64] { audit.note(.sample(at: offset), at: place(offset)) }
        for offset in [0, 1, 2, 9, 10, 11, 12, 13, 99] as [Int64] {
            audit.judge(try .sample(.fcm, messageID: "m\(offset)"), at: place(offset))
        }
        let report = audit.finish()
        #expect(report.defects.map(\.place.offset) == [1, 9] && report.lost == 2 && !report.isSound)
        #expect(report.defects.first == .init(.lost, place(1), lane: "fcm", messageID: "m1"))
        let counts = try #require(report.lanes["fcm"])
        #expect(counts.ended == 3 && counts.unfinished == 4 && counts.lost == 2 && counts.waiting == 0)
    }

    @Test("a retry that its lane has not finished is a record that waits; one that it has finished is none")
    func waiting() throws {
        // The record at 5 of the retry topic is finished, those below 4 as well.
        for (offset, waits) in [(3, false), (4, true), (5, false), (6, true)] as [(Int64, Bool)] {
            var audit = audit(tier: Self.offset(4, [0b10]))
            audit.note(try .sample(.fcm), RetryNote(offset: 7, attempts: 1, used: 0), tier: 0, at: place(offset))
            audit.judge(try .sample(.fcm), at: place(7))
            let report = audit.finish()
            #expect(report.isSound == waits && report.lanes["fcm"]?.waiting == (waits ? 1 : 0), "\(offset)")
        }
        var never = audit(tier: nil)
        never.note(try .sample(.fcm), RetryNote(offset: 7, attempts: 1, used: 0), tier: 0, at: place(0))
        never.judge(try .sample(.fcm), at: place(7))
        #expect(never.finish().isSound, "of a tier without a commit nothing is finished")
    }

    @Test("a lane is judged by its own offsets, and a lane that has committed nothing is not judged")
    func lanes() throws {
        var audit = audit()
        audit.judge(try .sample(.apns), at: place(1))
        audit.judge(try .sample(.fcm), at: place(2))
        let report = audit.finish()
        #expect(report.lanes["apns"]?.unfinished == 1 && report.defects.map(\.lane) == ["fcm"])
    }

    @Test("two outcomes of a record are a defect with the place of the second, whoever wrote them")
    func repeated() throws {
        var audit = audit()
        audit.note(.sample(at: 5), at: place(40))
        audit.note(.sample(.refused, at: 5, messageID: "m5", platform: .apns), at: place(41))
        audit.note(.sample(at: 5, partition: 1), at: place(42))
        var other = DeliveryRecord.sample(at: 5)
        other.topic = "another.dispatch"
        audit.note(other, at: place(43))
        audit.judge(try .sample(.fcm), at: place(5))
        let report = audit.finish()
        #expect(report.repeated == 1 && report.lost == 0 && !report.isSound)
        #expect(report.defects == [.init(.repeated, place(5), lane: "apns", messageID: "m5", again: place(41))])
    }

    @Test("what is before the lane's first trace in a partition is judged only if that is wanted")
    func beginnings() throws {
        for (judges, isRetry) in [(true, false), (false, false), (false, true)] {
            var audit = audit(judgesBeginnings: judges)
            if isRetry {
                audit.note(try .sample(.fcm), RetryNote(offset: 5, attempts: 1, used: 0), tier: 0, at: place(1))
            } else {
                audit.note(.sample(at: 5), at: place(0))
            }
            for offset in [4, 5, 6] as [Int64] { audit.judge(try .sample(.fcm), at: place(offset)) }
            let report = audit.finish()
            #expect(report.defects.map(\.place.offset) == (judges ? [4, 6] : [6]))
            #expect(report.lanes["fcm"]?.before == (judges ? 0 : 1))
        }
    }

    @Test("all defects are counted, and no more are listed than wanted")
    func listed() throws {
        var audit = audit(mostListed: 3)
        for offset in 0..<10 as Range<Int64> { audit.judge(try .sample(.fcm), at: place(offset)) }
        audit.noteForeign()
        let report = audit.finish()
        #expect(report.lost == 10 && report.defects.count == 3 && report.foreign == 1)
    }
}
