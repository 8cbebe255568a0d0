import Notifications
import Pipeline
import Testing

@testable import Sender

@Suite("A lane: the rate of each credential")
struct RateShareTests {
    private static let clean = LaneOffset(offset: 0, partitions: 4, sentBelow: 10_000)

    private func core(_ perMinute: [Int?]) -> LaneCore {
        var settings = LaneSettings(
            dispatchTopics: ["dispatch"], partitions: 4, provider: .fcm,
            credentials: perMinute.indices.map { "credential \($0)" })
        settings.perMinute = perMinute
        return LaneCore(settings)
    }

    private func assign(_ partitions: [Int32], to core: inout LaneCore) {
        for partition in partitions {
            core.assign(partition, committed: .init(repeating: Self.clean, count: 4), ends: [0, 0, 0, 0])
            core.recalled(partition)
        }
        _ = core.takeTransaction(now: 0)
        core.committed()
    }

    private func shares(_ core: LaneCore) -> [Double?] { core.credentials.map { $0.bucket?.share } }

    @Test("a credential of FCM has the quota that is set, and one of APNs no limit")
    func providers() {
        var delivery = SenderConfiguration()
        delivery.fcmPerMinute = 300_000
        #expect(Platform.allCases.map { $0.provider.perMinute(delivery) } == [300_000, nil])
    }

    @Test("no limit unless one is set; each credential has its own, of which a process has its partitions' share")
    func own() {
        #expect(shares(core([nil, nil])) == [nil, nil])
        #expect(
            LaneSettings(dispatchTopics: ["dispatch"], partitions: 4, provider: .fcm, credentials: ["a", "b"]).perMinute
                == [nil, nil])
        var core = core([600_000, nil, 60_000])
        #expect(shares(core) == [0, nil, 0])
        assign([0, 2, 3], to: &core)
        #expect(shares(core) == [0.75, nil, 0.75])
        let rates = core.credentials.map { credential in
            var bucket = credential.bucket
            _ = bucket?.take(now: 0)
            return bucket?.rate(now: 60_000)
        }
        #expect(rates == [7.5, nil, 0.75])
    }

    @Test("the share moves with the partitions: at once where one is revoked or lost, and stays when it is given up")
    func moves() {
        var core = core([600_000])
        assign([0, 1, 2, 3], to: &core)
        #expect(shares(core) == [1])
        core.lose(3)
        #expect(shares(core) == [0.75])
        core.revoke(0, now: 0)
        #expect(shares(core) == [0.5] && core.owns(0))
        core.tick(now: 1)
        #expect(shares(core) == [0.5] && core.owns(0))
        _ = core.takeTransaction(now: 1)
        core.committed()
        #expect(shares(core) == [0.5] && !core.owns(0))
        // Before anything of it was sent.
        core.assign(3, committed: .init(repeating: Self.clean, count: 4), ends: [0, 0, 0, 0])
        #expect(shares(core) == [0.75])
        core.revoke(3, now: 2)
        #expect(shares(core) == [0.5] && !core.owns(3))
    }

    @Test("a credential at its limit does not hold back the other")
    func separate() {
        var core = core([60, nil])
        assign([0, 1, 2, 3], to: &core)
        for source in 0..<10 as Range<Int64> {
            let record = LaneRecord(
                partition: 0, source: source, device: UInt64(source), deviceHash: String(repeating: "0a", count: 32),
                messageID: "m\(source)", platform: .fcm, credential: Int(source % 2), expiresAt: 100_000_000)
            #expect(core.dispatch(record, now: 0) == true)
        }
        // The first of a bucket never waits.
        #expect(core.takeRequests(now: 0).map(\.record.source) == [0, 1, 3, 5, 7, 9])
        // A message a second.
        #expect(core.takeRequests(now: 60_000).count == 1)
    }
}
