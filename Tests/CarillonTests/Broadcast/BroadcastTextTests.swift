import NotificationPayload
import Notifications
import Testing

@testable import Broadcasts
@testable import carillon

@Suite("What is said of a broadcast") struct BroadcastTextTests {
    /// Eleven minutes after it was published.
    private let now = publication + 660_000

    private func reach(_ counts: [(locale: String, Platform, Int)], stale: Int = 0) -> BroadcastReach {
        var reach = BroadcastReach(languages: ["en", "hi"])
        var lines: [(String, Platform, WallTime)] = []
        for (locale, platform, count) in counts {
            lines += Array(repeating: (locale, platform, publication), count: count)
        }
        lines += Array(repeating: ("en", .fcm, publication - 1_001), count: stale)
        for (number, (locale, platform, seen)) in lines.enumerated() {
            withDevice(number, locale, platform, lastSeen: seen) {
                reach.note($0, publishedAt: publication, maxAge: 1_000)
            }
        }
        return reach
    }

    private func withDevice(
        _ number: Int, _ locale: String, _ platform: Platform, lastSeen: WallTime, _ body: (Device) -> Void
    ) {
        let table = SubscriptionTable.inMemory()
        var changes = SubscriptionChanges()
        let token = "\(100_000 + number)"
        let subscription = Subscription(
            audience: "channel/a", token: token, platform: platform, app: "a", locale: locale,
            lastSeenAt: lastSeen)
        let key = SubscriptionKey(audience: "channel/a", token: token)
        Array("\(key.audience)|\(key.tokenHash)".utf8).withUnsafeBytes { key in
            subscription.encoded().withUnsafeBytes { value in
                changes.append(SubscriptionRecord(partition: 0, offset: 0, key: key, value: value))
            }
        }
        do {
            var position = TablePosition.beginning(at: [0], time: 0)
            position.isWhole = true
            _ = try table.apply(&changes, position)
            var reader = try table.makeReader()
            try reader.begin()
            var list = DeviceList()
            list.removeAll(audiences: 1)
            try Array("channel/a".utf8).withUnsafeBytes { audience in
                try reader.addDevices(of: audience, as: 0, limit: 10, to: &list)
            }
            #expect(list.count == 1)
            for device in list.devices { body(device) }
        } catch {
            Issue.record(error)
        }
    }

    @Test("a plan counts devices by language and provider, and leaves out those that were seen too long ago")
    func plan() throws {
        let reach = reach([("en-GB", .fcm, 3), ("hi", .fcm, 1), ("HI_in", .apns, 2), ("fr", .apns, 1)], stale: 2)
        #expect(reach.count == 7 && reach.stale == 2)
        let plan = BroadcastPlan(broadcast: .sample(), replaced: nil, reach: reach, now: now)
        #expect(
            plan.text == """
                broadcast  1235 (display, downtime)
                message    msg-1
                audience   channel/General
                published  2025-07-07T08:02:17.000Z
                expires    2025-07-07T09:02:17.000Z, in 49m00s
                languages  en, hi
                devices    7: 4 fcm, 3 apns
                  en       4: 3 fcm, 1 apns
                  hi       3: 1 fcm, 2 apns
                stale      2 more were last seen too long ago

                """)
        let document = try #require(PushValue(json: plan.json()))
        #expect(document["devices"]?.int == 7 && document["stale"]?.int == 2 && document["record"] == nil)
        #expect(document["devices_by_platform"]?["fcm"]?.int == 4)
        #expect(document["devices_by_language"]?["hi"]?.int == 3)
    }

    @Test("a plan says who sees a broadcast that replaces another: an app shows a message id once")
    func replacement() {
        func line(_ old: BroadcastLog.Content) -> String? {
            var entry = BroadcastLog.entry()
            entry.content = old
            let plan = BroadcastPlan(broadcast: .sample(), replaced: entry, reach: nil, now: now)
            return plan.text.split(separator: "\n").first { $0.hasPrefix("replaces") }.map(String.init)
        }
        let before = "replaces   the one that was written at 2025-07-07T08:02:18.000Z"
        #expect(
            line(.published(.sample()))
                == before + "; the same message id: it is sent again, and not shown again where it was")
        #expect(
            line(.published(.sample(message: "msg-0")))
                == before + "; another message id: it is shown again to those who have that one")
        #expect(line(.failed(.cancelledNothing)) == before + ", which could not be sent")
        let plan = BroadcastPlan(broadcast: .sample(), replaced: nil, reach: nil, now: now)
        #expect(!plan.text.contains("replaces") && !plan.text.contains("devices"))
    }

    private func status(_ progress: BroadcastProgress, _ change: (inout BroadcastLog.Entry) -> Void = { _ in })
        -> BroadcastStatus
    {
        var entry = BroadcastLog.entry()
        change(&entry)
        return BroadcastStatus(entry: entry, progress: progress, topic: "notifications.broadcasts", now: now)
    }

    @Test("a status under way: what is not counted yet is marked as about")
    func underWay() throws {
        let progress = BroadcastProgress.sample(
            committed: [0: .at(broadcast: 13)],
            [
                .of([.of(0, devices: 1_000, sent: 990, stale: 3, end: .done)], clock: 640_000),
                .of([.of(1, devices: 1_100, sent: 1_000)], clock: 650_000),
            ])
        #expect(
            status(progress).text == """
                broadcast     1235 (display, downtime)
                message       msg-1
                audience      channel/General
                published     2025-07-07T08:02:17.000Z
                expires       2025-07-07T09:02:17.000Z, in 49m00s
                record        notifications.broadcasts/0/12
                state         under way
                partitions    1 of 4 done, 1 under way, 2 waiting
                devices       about 4,200, 2,100 of them counted
                reached       1,990
                stale         3 were last seen too long ago
                left          7 unsubscribed before it came to them
                joined later  0
                rate          100/s, about 22s left

                """)
        let document = try #require(PushValue(json: status(progress).json()))
        #expect(document["state"] == .string("under_way"))
        #expect(document["devices_about"]?.int == 4_200 && document["devices_counted"]?.int == 2_100)
        #expect(document["per_second"]?.int == 100 && document["seconds_left"]?.int == 22)
        #expect(document["partitions"]?["done"]?.int == 1 && document["partitions"]?["under_way"]?.int == 1)
    }

    @Test("a broadcast that is over has no estimate and no rate")
    func over() throws {
        let done = BroadcastProgress.sample((0..<4).map { .of([.of($0, devices: 2, sent: 2, end: .done)]) })
        let text = status(done).text
        #expect(text.contains("state         done\npartitions    4 of 4 done\ndevices       8\nreached       8\n"))
        #expect(!text.contains("rate"))
        let half = BroadcastProgress.sample([
            .of([.of(0, devices: 9, sent: 1)], clock: 659_000),
            .of([.of(0, sent: 1, end: .cancelled)], clock: 660_000),
        ])
        let cancelled = status(half) { $0.end = .cancelled(at: publication + 659_000) }
        #expect(cancelled.text.contains("state         cancelled at 2025-07-07T08:13:16.000Z\n"))
        #expect(cancelled.text.contains("partitions    0 of 4 done, 3 waiting, 1 stopped before the end\n"))
        #expect(!cancelled.text.contains("about") && !cancelled.text.contains("rate"))
        let document = try #require(PushValue(json: cancelled.json()))
        #expect(document["devices_about"]?.int == 9 && document["per_second"] == nil)
    }

    @Test("a cancellation says how many devices have it, of the passes and of those that joined later")
    func cancellation() {
        func text(_ reached: Int, late: Int) -> String {
            BroadcastCancellation(id: "7", reached: reached, joinedLater: late, partitionsDone: 1, partitions: 4).text
        }
        #expect(text(1_300, late: 12) == "cancelled 7: it had reached 1,312 devices, 1 of 4 partitions\n")
        #expect(text(0, late: 1) == "cancelled 7: it had reached 1 device, 1 of 4 partitions\n")
    }

    @Test("one that cannot be sent says why")
    func failed() throws {
        let text = status(.sample()) { $0.content = .failed(.cancelledNothing) }
        #expect(
            text.text.hasPrefix("broadcast  1235\nrecord     notifications.broadcasts/0/12\nstate      a dead letter, ")
        )
        let document = try #require(PushValue(json: text.json()))
        #expect(document["state"] == .string("failed"))
        #expect(document["reason"]?.string?.hasPrefix("bad_request: ") == true)
    }

    @Test("the state follows from the record first, then from the passes, and last from the clock")
    func states() {
        func state(
            _ stages: BroadcastProgress.Stages, at time: WallTime = publication,
            _ change: (inout BroadcastLog.Entry) -> Void = { _ in }
        ) -> BroadcastState {
            var entry = BroadcastLog.entry()
            change(&entry)
            return BroadcastState(entry, stages, now: time)
        }
        let late = publication + 3_600_000
        #expect(state(.init(waiting: 4)) == .waiting)
        #expect(state(.init(waiting: 3, underWay: 1)) == .underWay)
        #expect(state(.init(waiting: 3, done: 1)) == .underWay)
        #expect(state(.init(done: 3, without: 1)) == .done)
        #expect(state(.init(waiting: 4), at: late) == .expired)
        #expect(state(.init(waiting: 4), at: late - 1) == .waiting)
        #expect(state(.init(done: 4), at: late) == .done)
        #expect(state(.init(done: 3, stopped: 1), at: late) == .expired)
        #expect(state(.init(without: 4, expired: 4), at: late) == .expired)
        #expect(state(.init(done: 3, without: 1, expired: 1), at: late) == .expired)
        #expect(state(.init(waiting: 3, without: 1, expired: 1), at: late - 1) == .underWay)
        #expect(state(.init(waiting: 1, without: 3, failed: 3)) == .failed)
        #expect(state(.init(done: 4)) { $0.end = .cancelled(at: nil) } == .cancelled)
        #expect(state(.init(done: 4)) { $0.end = .replaced } == .replaced)
        #expect(state(.init(waiting: 4)) { $0.content = .failed(.cancelledNothing) } == .failed)
    }

    @Test("what expired before its turn has expired in the list, and what was sent before it expired is done")
    func expired() {
        var log = BroadcastLog()
        for (offset, id) in ["sent", "skipped", "half", "valid"].enumerated() {
            let time = id == "valid" ? publication : publication - 3_600_000
            log.take(id, at: Int64(offset), .published(.sample(id: id, at: time)))
        }
        var entry = BroadcastJournalEntry.of([
            .of(0, broadcast: 0, devices: 1, sent: 1, end: .done), .of(1, broadcast: 0, devices: 0, end: .done),
            .of(0, broadcast: 2, devices: 1, sent: 1, end: .done),
        ])
        for (broadcast, partition) in [(1, 0), (1, 1), (2, 1)] as [(Int64, Int32)] {
            entry.skipped.append(
                .init(partition: partition, broadcast: broadcast, notificationID: nil, reason: .expired))
        }
        let group = BroadcastGroup(
            name: entry.group, partitions: 2, committed: [0: .at(broadcast: 4), 1: .at(broadcast: 4)])
        var reads = 0
        let rows = BroadcastRow.list(log, group, all: true, now: publication) { _, take in
            reads += 1
            take(entry)
        }
        #expect(rows.map(\.state) == [.done, .expired, .expired, .done] && reads == 1)
    }

    @Test("the list has what is valid in the order of the log, and with --all everything")
    func list() {
        var log = BroadcastLog()
        log.take("old", at: 0, .published(.sample(id: "old", at: publication - 3_600_000)))
        log.take("a", at: 1)
        log.take("b", at: 2)
        log.take("a", at: 3)
        log.take("c", at: 4)
        log.cancel("c", at: nil)
        log.take("bad", at: 6, .failed(.cancelledNothing))
        let group = BroadcastGroup(
            name: "g", partitions: 2, committed: [0: .at(broadcast: 3), 1: .at(broadcast: 3, isUnderWay: true)])
        let valid = BroadcastRow.list(log, group, all: false, now: publication) { _, _ in
            Issue.record("what is valid needs no journal")
        }
        #expect(
            valid.text == """
                ID  AUDIENCE         KIND               PUBLISHED                 EXPIRES                   STATE
                b   channel/General  display, downtime  2025-07-07T08:02:17.000Z  2025-07-07T09:02:17.000Z  done
                a   channel/General  display, downtime  2025-07-07T08:02:17.000Z  2025-07-07T09:02:17.000Z  under way, 0 of 2 partitions

                """)
        let all = BroadcastRow.list(log, group, all: true, now: publication) { _, _ in }
        #expect(all.map(\.id) == ["old", "a", "b", "a", "c", "bad"])
        #expect(all.map(\.state) == [.done, .replaced, .done, .underWay, .cancelled, .failed])
        #expect(
            all.text.contains(
                "bad  -                -                  -                         -                         cannot be sent\n"
            ))
    }
}
