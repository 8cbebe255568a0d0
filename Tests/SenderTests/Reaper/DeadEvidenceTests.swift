import Notifications
import Testing

@testable import KafkaClient
@testable import Sender

@Suite("What the deliveries say about dead devices")
struct DeadEvidenceTests {
    private let now: WallTime = 10_000_000

    private func evidence(_ records: [DeliveryRecord], limit: Int = 100) -> DeadEvidence {
        var evidence = DeadEvidence(now: now, limit: limit)
        for (offset, record) in records.enumerated() { evidence.note(record, partition: 0, offset: Int64(offset)) }
        return evidence
    }

    private func device(_ number: Int) -> DeviceHash { DeviceHash(ReapSamples.hash(number))! }

    @Test("evidence younger than 10 minutes is not read, nor what comes after it in its partition")
    func age() {
        let found = evidence([
            ReapSamples.outcome(.deadDevice, 1, evidence: now - 600_000),
            ReapSamples.outcome(.accepted, 2, status: 200, sent: now),
            ReapSamples.outcome(.deadDevice, 3, evidence: now - 599_999),
            ReapSamples.outcome(.deadDevice, 4, evidence: now - 900_000),
        ])
        #expect(found.isDead(device(1)) && !found.isDead(device(3)) && !found.isDead(device(4)))
        #expect(found.next([0: 4, 1: 7]) == [0: 2, 1: 7])
        #expect(found.answers["shop"]?.all == 2 && found.answers["shop"]?.dead == 1 && !found.hasMore)
    }

    @Test("only dead_device is evidence, and the newest of a device counts")
    func outcomes() {
        let found = evidence([
            ReapSamples.outcome(.deadDevice, 1, evidence: 5_000), ReapSamples.outcome(.deadDevice, 1, evidence: 7_000),
            ReapSamples.outcome(.deadDevice, 1, evidence: 6_000), ReapSamples.outcome(.refused, 2, evidence: 5_000),
            ReapSamples.outcome(.gaveUp, 3, evidence: 5_000), ReapSamples.outcome(.deadDevice, 4, evidence: nil),
        ])
        #expect(found.devices.count == 1 && found.devices[device(1)].map { $0.values.map(\.evidence) } == [7_000])
    }

    /// One dead device after so many accepted pushes each, and more of these to fill up.
    private func answers(dead: Int, accepted: Int, after: Int = 1, kind: DeliveryOutcome = .accepted)
        -> [DeliveryRecord]
    {
        var records: [DeliveryRecord] = []
        func accept(_ count: Int) {
            for _ in 0..<count { records.append(ReapSamples.outcome(kind, 0, status: 200, sent: now)) }
        }
        for number in 0..<dead {
            accept(min(after, max(0, accepted - after * number)))
            records.append(ReapSamples.outcome(.deadDevice, number, evidence: 5_000))
        }
        accept(max(0, accepted - after * dead))
        return records
    }

    private func isHeld(_ records: [DeliveryRecord]) -> Bool {
        // Neither is an answer of this credential.
        let others =
            (0..<1_000).map { ReapSamples.outcome(.expired, $0, credential: "shop", status: nil) }
            + (0..<1_000).map { ReapSamples.outcome(.accepted, $0, credential: "other", status: 200) }
        return evidence(records + others, limit: 100_000).held(before: []) == ["shop"]
    }

    @Test("more than 10 devices and more than 5 % of at least 20 answers hold a credential")
    func held() {
        #expect(isHeld(answers(dead: 26, accepted: 474)) && !isHeld(answers(dead: 25, accepted: 475)))
        #expect(isHeld(answers(dead: 501, accepted: 9_499)) && !isHeld(answers(dead: 500, accepted: 9_500)))
        #expect(isHeld(answers(dead: 11, accepted: 9)) && !isHeld(answers(dead: 11, accepted: 8)))
        #expect(!isHeld(answers(dead: 10, accepted: 10)))
    }

    @Test("the same device again and again is one device")
    func oneDevice() {
        let again = (0..<100).map { _ in ReapSamples.outcome(.deadDevice, 1, evidence: 5_000) }
        #expect(!isHeld(again + answers(dead: 0, accepted: 1)))
    }

    @Test("all answers dead hold a credential, and so do many beside pushes that were given up or refused")
    func oneKind() {
        #expect(isHeld(answers(dead: 499, accepted: 0)))
        for kind in [DeliveryOutcome.gaveUp, .refused, .expired, .cancelled] {
            #expect(isHeld(answers(dead: 600, accepted: 11_500, kind: kind)), "\(kind)")
        }
    }

    @Test("more than 10 devices in a row hold a credential, however many pushes were accepted before and after")
    func burst() {
        func records(_ dead: Int) -> [DeliveryRecord] {
            answers(dead: 0, accepted: 10_000) + answers(dead: dead, accepted: 0) + answers(dead: 0, accepted: 10_000)
        }
        #expect(isHeld(records(11)) && !isHeld(records(10)))
    }

    @Test("evidence waits until something is accepted with its credential after it, for a day")
    func waits() {
        func found(accepted: WallTime?, credential: String = "shop", now: WallTime) -> DeadEvidence {
            var evidence = DeadEvidence(now: now, limit: 100)
            evidence.note(ReapSamples.outcome(.deadDevice, 1, evidence: 5_000, sent: 6_000), partition: 3, offset: 7)
            if let accepted {
                evidence.note(
                    ReapSamples.outcome(.accepted, 2, credential: credential, status: 200, sent: accepted),
                    partition: 4, offset: 0)
            }
            return evidence
        }
        for waiting in [
            found(accepted: nil, now: now), found(accepted: 5_999, now: now),
            found(accepted: 6_001, credential: "other", now: now),
        ] {
            #expect(waiting.waiting == ["shop": 1] && waiting.held(before: []).isEmpty)
            #expect(
                waiting.next([3: 9, 4: 1], keeping: []) == [3: 7, 4: 1] && waiting.next([3: 9, 4: 1]) == [3: 9, 4: 1])
        }
        let accepted = found(accepted: 6_000, now: now)
        #expect(accepted.waiting.isEmpty && accepted.next([3: 9, 4: 1], keeping: []) == [3: 9, 4: 1])
        let old = found(accepted: nil, now: 6_000 + 86_400_000)
        #expect(old.waiting == ["shop": 1] && old.next([3: 9], keeping: []) == [3: 9], "it is forgotten")
    }

    @Test("answers that an earlier run has judged count for a day, but not those that a person has confirmed")
    func judged() {
        func isHeld(confirmed: WallTime?) -> Bool {
            var evidence = DeadEvidence(now: now, limit: 100, confirmed: confirmed)
            for (offset, record) in answers(dead: 11, accepted: 20).enumerated() {
                evidence.note(record, partition: 0, offset: Int64(offset), isJudged: true)
            }
            #expect(evidence.devices.isEmpty)
            return evidence.held(before: []) == ["shop"]
        }
        #expect(isHeld(confirmed: nil) && isHeld(confirmed: 4_999) && !isHeld(confirmed: 5_000))
    }

    @Test("a credential that was held stays held, whatever its share is now, and its evidence is kept")
    func sticky() {
        let found = evidence([
            ReapSamples.outcome(.accepted, 1, status: 200), ReapSamples.outcome(.deadDevice, 2, evidence: 5_000),
            ReapSamples.outcome(.deadDevice, 3, evidence: 5_000, credential: "other"),
            ReapSamples.outcome(.accepted, 1, status: 200, sent: now),
            ReapSamples.outcome(.accepted, 1, credential: "other", status: 200, sent: now),
        ])
        let held = found.held(before: [DeadEvidence.hash(of: "shop")])
        #expect(held == ["shop"] && found.held(before: []).isEmpty)
        #expect(found.next([0: 5], keeping: held) == [0: 1] && found.next([0: 5], keeping: []) == [0: 5])
    }

    @Test("a pass takes so many devices, and leaves the rest to the next one")
    func limit() {
        let found = evidence(
            (0..<5).map { ReapSamples.outcome(.deadDevice, $0 / 2, evidence: 5_000) }, limit: 2)
        #expect(found.devices.count == 2 && found.hasMore && found.next([0: 5]) == [0: 4])
    }
}

@Suite("Which subscriptions of dead devices are deleted")
struct LiveVersionsTests {
    private func dead(
        _ records: [ConsumerRecord], _ outcomes: [DeliveryRecord],
        by credentials: @escaping (String) -> Bool = { _ in true }
    ) -> [DeadVersion] {
        var evidence = DeadEvidence(now: 10_000_000)
        for (offset, outcome) in outcomes.enumerated() {
            evidence.note(outcome, partition: 0, offset: Int64(offset))
        }
        var live = LiveVersions()
        for record in records { live.note(record) }
        return evidence.dead(among: live) { target, _ in credentials(target.credential) }
    }

    @Test("a version is dead if the newest of registered_at, last_seen_at and its record's time is before the evidence")
    func newest() {
        let outcome = [ReapSamples.outcome(.deadDevice, 1, evidence: 1_000)]
        for (registered, seen, written, isDead) in [
            (999, 999, 999, true), (1_000, 999, 999, false), (999, 1_000, 999, false),
            (999, 999, 1_000, false), (nil, nil, 999, true), (nil, nil, nil, false), (999, nil, nil, true),
        ] as [(WallTime?, WallTime?, WallTime?, Bool)] {
            let found = dead(
                [ReapSamples.subscription(1, registered: registered, seen: seen, written: written, offset: 4)], outcome)
            #expect(found.count == (isDead ? 1 : 0), "\([registered, seen, written])")
        }
    }

    @Test("the null goes to the version's partition, with the header dead=<evidence>/<offset judged>")
    func null() {
        let key = ReapSamples.key(1)
        let found = dead(
            [ReapSamples.subscription(1, written: 1, partition: 3, offset: 40)],
            [ReapSamples.outcome(.deadDevice, 1, evidence: 1_000)])
        let expected = ProducerRecord(
            key: key, value: nil, headers: [RecordHeader("dead", Array("1000/40".utf8))], partition: 3)
        #expect(found.map(\.tombstone) == [expected])
    }

    @Test("only the latest version counts, of every audience; what is no subscription changes nothing")
    func latest() {
        let outcome = [ReapSamples.outcome(.deadDevice, 1, evidence: 1_000)]
        var malformed = ReapSamples.subscription(1, "place/3", written: 5_000, offset: 5)
        malformed.value = Array("{".utf8)
        let found = dead(
            [
                ReapSamples.subscription(1, "place/1", written: 1, offset: 0),
                ReapSamples.subscription(1, "place/2", written: 1, offset: 1),
                ReapSamples.subscription(1, "place/3", written: 1, offset: 2),
                ReapSamples.subscription(1, "place/1", written: 2_000, offset: 3),
                ReapSamples.null(1, "place/2", offset: 4), malformed,
            ], outcome)
        #expect(found.map(\.key) == [ReapSamples.key(1, "place/3")])
    }

    @Test("APNs answers for a token, an app and an environment, FCM for a token alone")
    func targets() {
        let token = ReapSamples.token(1, .apns)
        func found(_ app: String?, _ environment: PushEnvironment?) -> Int {
            dead(
                [ReapSamples.subscription(1, "place/1", .apns, app: "shop", .development, written: 1, offset: 0)],
                [ReapSamples.outcome(.deadDevice, 1, .apns, app: app, environment, evidence: 1_000)]
            ).count
        }
        #expect(token.count == 64)
        #expect(found("shop", .development) == 1 && found(nil, nil) == 1)
        #expect(found("other", .development) == 0 && found("shop", .production) == 0)
        let fcm = dead(
            [ReapSamples.subscription(1, app: "shop", written: 1, offset: 0)],
            [ReapSamples.outcome(.deadDevice, 1, app: "another", evidence: 1_000)])
        #expect(fcm.count == 1)
    }

    @Test("the evidence of a credential that does not count deletes nothing")
    func credentials() {
        let records = [ReapSamples.subscription(1, written: 500, offset: 0)]
        let outcomes = [
            ReapSamples.outcome(.deadDevice, 1, evidence: 1_000, credential: "a"),
            ReapSamples.outcome(.deadDevice, 1, evidence: 2_000, credential: "b"),
        ]
        #expect(dead(records, outcomes).map(\.evidence) == [2_000])
        #expect(dead(records, outcomes, by: { $0 != "b" }).map(\.evidence) == [1_000])
        #expect(dead(records, outcomes, by: { _ in false }).isEmpty)
    }
}
