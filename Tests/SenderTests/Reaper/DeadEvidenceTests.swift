import Notifications
import Registrar
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

    private func device(_ number: Int) -> AddressHash { AddressHash(hex: ReapSamples.hash(number))! }

    @Test("evidence younger than 10 minutes is not read, nor what comes after it in its partition")
    func age() {
        let found = evidence([
            ReapSamples.outcome(.deadDevice, 1, evidence: now - 600_000),
            ReapSamples.outcome(.accepted, 2, status: 200, sent: now),
            ReapSamples.outcome(.deadDevice, 3, evidence: now - 599_999),
            ReapSamples.outcome(.deadDevice, 4, evidence: now - 900_000),
        ])
        #expect(Set(found.devices.keys) == [device(1)])
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

@Suite("What the registrar is told of dead devices")
struct ReapPlanTests {
    private func plan(_ outcomes: [DeliveryRecord], base: ReapPositions = ReapPositions()) -> ReapPlan {
        var evidence = DeadEvidence(now: 10_000_000)
        for (offset, outcome) in outcomes.enumerated() {
            evidence.note(outcome, partition: 0, offset: Int64(offset))
        }
        return ReapPlan(base: base, evidence: evidence, time: 10_000_000, ends: [0: Int64(outcomes.count)])
    }

    private let accepted = ReapSamples.outcome(.accepted, 9, status: 200, sent: 9_000_000)

    @Test("the address, the provider's word and its time; of APNs also the app and the environment")
    func commands() {
        let plan = plan([
            ReapSamples.outcome(.deadDevice, 1, app: "shop", evidence: 1_000),
            ReapSamples.outcome(.deadDevice, 2, .apns, app: "com.example.shop", .development, evidence: 2_000),
            accepted,
        ])
        let texts = plan.dead(.withinLimit).map(\.command).map { String(decoding: $0.json, as: UTF8.self) }
        #expect(
            texts == [
                #"{"version":1,"by":"sender","action":"bury_address","address_sha256":"\#(ReapSamples.hash(1))","#
                    + #""platform":"fcm","reason":"UNREGISTERED","at":1000}"#,
                #"{"version":1,"by":"sender","action":"bury_address","address_sha256":"\#(ReapSamples.hash(2, .apns))","#
                    + #""platform":"apns","app":"com.example.shop","environment":"development","#
                    + #""reason":"UNREGISTERED","at":2000}"#,
            ])
        #expect(plan.groups.map(\.devices) == [1, 1] && plan.groups.map(\.app) == ["com.example.shop", "shop"])
    }

    @Test("a reason is no longer than a command may have it")
    func reason() {
        var outcome = ReapSamples.outcome(.deadDevice, 1, evidence: 1_000)
        outcome.reason = String(repeating: "\u{1F4F1}", count: 1_000)
        #expect(plan([outcome]).dead(.everything).map(\.finding.reason.utf8.count) == [252])
    }

    @Test("nothing of a credential that is held or waits, but with a person's confirmation")
    func held() {
        let other = ReapSamples.outcome(.deadDevice, 2, evidence: 2_000, credential: "other")
        let outcomes = [ReapSamples.outcome(.deadDevice, 1, evidence: 1_000), other, accepted]
        let waits = plan(outcomes)
        #expect(waits.devices(.withinLimit) == 1 && waits.devices(.everything) == 2)
        #expect(waits.positions(.withinLimit).next == [0: 1])
        let held = plan(outcomes, base: ReapPositions(held: [DeadEvidence.hash(of: "shop")]))
        #expect(held.devices(.withinLimit) == 0 && held.positions(.withinLimit).next == [0: 0])
        #expect(held.positions(.everything) == ReapPositions(next: [0: 3], confirmed: 10_000_000))
    }
}
