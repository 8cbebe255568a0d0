import CarillonTesting
import StageSupport
import TestSupport
import Testing

@testable import Notifications

@Suite("A repeated request is sent once (docs/rules.md §8.10)")
struct RepeatedRequestTests {
    private static let day = RepeatDriver.day

    private func told(at clock: WallTime? = nil, _ ask: (inout RepeatDriver) -> Void) throws -> [String] {
        var driver = try RepeatDriver()
        ask(&driver)
        try driver.process(clock: clock)
        return driver.told
    }

    @Test("an id is known for 24 h after its last record, by the times of the partition")
    func day() throws {
        let told = try told {
            for after in [0, 1, Self.day - 1, 2 * Self.day - 2_000, 3 * Self.day] { $0.ask("r", after: after) }
        }
        #expect(told == ["sent", "duplicate", "duplicate", "duplicate", "sent"])
    }

    @Test("the time of a partition does not go back: a late record changes nothing")
    func lateRecord() throws {
        let told = try told {
            $0.ask("r", after: Self.day)
            $0.ask("s", after: 0)
            $0.ask("s", after: 2 * Self.day - 1_000)
            $0.ask("r", after: 2 * Self.day)
        }
        #expect(told == ["sent", "sent", "duplicate", "sent"])
    }

    @Test("another value with the same id is not sent either, and is counted apart")
    func otherContent() throws {
        var driver = try RepeatDriver()
        for title in ["a", "b", "b", "a"] { driver.ask("r", title: title) }
        try driver.process()
        let (told, counts) = (driver.told, driver.counts)
        #expect(told == ["sent", "duplicate_other_content", "duplicate", "duplicate_other_content"])
        #expect(counts.suppressed(.duplicate) == 1 && counts.suppressed(.duplicateOtherContent) == 2)
    }

    @Test("another key, another id and no id of its own make another request")
    func others() throws {
        let told = try told {
            $0.ask("r")
            $0.ask("r", key: "user/2")
            $0.ask("r", key: nil)
            $0.ask("s")
            $0.ask(nil)
            $0.ask(nil)
            // The key and the id are no one text.
            $0.ask("ruser", key: "/1")
        }
        #expect(told == Array(repeating: "sent", count: 7))
    }

    @Test("the id may be the envelope's")
    func envelope() throws {
        let told = try told {
            $0.ask(nil, headers: [("id", "o")])
            $0.ask(nil, headers: [("id", "o")])
            $0.ask(nil, headers: [("ce_source", "s"), ("ce_id", "i")])
            $0.ask(nil, headers: [("ce_source", "s"), ("ce_id", "i")])
            $0.ask(nil, headers: [("ce_source", "t"), ("ce_id", "i")])
        }
        #expect(told == ["sent", "duplicate", "sent", "duplicate", "sent"])
    }

    @Test("a dead letter of what a request says is not known: it can be corrected and sent with the same id")
    func deadLetter() throws {
        let told = try told {
            $0.ask("r", audience: "team/1")
            $0.ask("r")
            $0.ask("r", audience: "team/1")
            $0.ask("r")
        }
        #expect(told == ["bad_request", "sent", "bad_request", "duplicate"])
    }

    @Test("what expired, had nobody or was too large for its devices is known: the log alone decides")
    func known() throws {
        let told = try told(at: RepeatDriver.morning) {
            $0.ask("expired", members: #""expires_at":1751871600000,"#)
            $0.ask("nobody", key: "user/9", audience: "user/9")
            $0.ask("large", title: String(repeating: "x", count: 5_000))
            $0.ask("expired", members: #""expires_at":1751871600000,"#)
            $0.ask("nobody", key: "user/9", audience: "user/9")
            $0.ask("large")
        }
        #expect(
            told == [
                "expired", "no_subscriber", "payload_too_large", "duplicate", "duplicate", "duplicate_other_content",
            ])
    }

    @Test("a dead letter that was put back is sent, whatever is known of its id, and is known then")
    func putBack() throws {
        let place = [
            ("replay-of", "dead/0/7"), ("__connect.errors.topic", "r"), ("__connect.errors.partition", "0"),
            ("__connect.errors.offset", "4"),
        ]
        let told = try told {
            $0.ask("r")
            $0.ask("r", headers: place)
            $0.ask("r")
        }
        #expect(told == ["sent", "sent", "duplicate"])
    }

    @Test("beyond the limit of a partition the id whose last record is the oldest is forgotten, and counted")
    func limit() throws {
        var driver = try RepeatDriver(limit: 2)
        for id in ["a", "b", "a", "c", "a", "b"] { driver.ask(id) }
        try driver.process()
        // Of those that are older than 24 h nobody has to hear.
        for id in ["d", "e", "f"] { driver.ask(id, after: 2 * Self.day) }
        try driver.process()
        let (told, counts) = (driver.told, driver.counts)
        #expect(told.prefix(6) == ["sent", "sent", "duplicate", "sent", "duplicate", "sent"])
        #expect(counts.forgottenRequests == 3)
    }

    @Test("a record from the future counts as an hour after the clock of its transaction")
    func future() throws {
        var driver = try RepeatDriver()
        driver.ask("r")
        driver.append(SampleRecord(key: "k", value: "{", at: .distantFuture))
        driver.ask("r", after: 1)
        try driver.process(clock: RepeatDriver.morning)
        let told = driver.told
        #expect(told == ["sent", "invalid_json", "duplicate"])
        let newest = driver.core.newest(in: SourcePartition(.requests, 0))
        #expect(newest == RepeatDriver.morning + RepeatDriver.hour)
        // Whoever folds it again does not know that clock: it counts as the record before it.
        try driver.crash()
        let folded = driver.core.newest(in: SourcePartition(.requests, 0))
        #expect(folded == newest)
    }

    @Test("a partition of which no state was begun has none: every request stands alone")
    func unassigned() throws {
        var states = RequestStates()
        states.begin(EventRecord(partition: 3, offset: 0, timestamp: nil, key: nil, value: nil))
        for _ in 0..<2 {
            let reason = states.take(
                RequestSighting(
                    key: RequestKey(high: 1, low: 1), value: UnsafeRawBufferPointer(start: nil, count: 0), offset: 0,
                    isRedriven: false))
            #expect(reason == nil)
        }
    }

    // MARK: Whoever folds it

    private enum Trouble: CaseIterable {
        case crash, abort, abortAndCrash, restart, oldCheckpoint
    }

    @Test(
        "crash, abort and restart at every step give the outcomes and the ids of the run without trouble",
        arguments: [2, 5, RequestStates.limit], Trouble.allCases.indices)
    func everyStep(limit: Int, kind: Int) throws {
        let trouble = Trouble.allCases[kind]
        for seed in UInt64(0)..<6 {
            var random = SeededGenerator(seed: seed)
            var calm = try RepeatDriver(limit: limit)
            var driver = try RepeatDriver(limit: limit)
            var after: Int64 = 0
            for step in 0..<60 {
                let count = Int.random(in: 0...4, using: &random)
                for _ in 0..<count {
                    after += Int64.random(in: 0...(2 * RepeatDriver.hour), using: &random)
                    if Int.random(in: 0..<40, using: &random) == 0 { after += RepeatDriver.day }
                    let late = Int.random(in: 0..<8, using: &random) == 0 ? 30 * RepeatDriver.hour : 0
                    let id = "r\(Int.random(in: 0..<8, using: &random))"
                    let title = Int.random(in: 0..<5, using: &random) == 0 ? "other" : "T"
                    let audience = Int.random(in: 0..<9, using: &random) == 0 ? "team/1" : "user/1"
                    calm.ask(id, after: max(0, after - late), title: title, audience: audience)
                    driver.ask(id, after: max(0, after - late), title: title, audience: audience)
                }
                try calm.process()
                switch trouble {
                case .crash:
                    try driver.process()
                    try driver.crash()
                case .abort:
                    try driver.process(aborts: true)
                    try driver.process()
                case .abortAndCrash:
                    try driver.process(aborts: true)
                    try driver.crash()
                    try driver.process()
                case .restart:
                    try driver.process(aborts: true)
                    try driver.process()
                    try driver.save()
                    let isLoaded = try driver.restart()
                    #expect(isLoaded)
                case .oldCheckpoint:
                    if step % 7 == 0 { try driver.save() }
                    try driver.process(aborts: true)
                    try driver.process()
                    let isLoaded = try driver.restart()
                    #expect(isLoaded)
                }
                let (known, expected) = (driver.known, calm.known)
                guard known == expected else {
                    Issue.record("seed \(seed), \(trouble): other ids after step \(step)")
                    break
                }
            }
            let (told, expected) = (driver.told, calm.told)
            #expect(told == expected, "seed \(seed), \(trouble)")
            let counts = calm.counts
            #expect(counts.suppressed(.duplicate) > 0 && counts.suppressed(.duplicateOtherContent) > 0)
            if limit == 2 { #expect(counts.forgottenRequests > 0) }
        }
    }
}
