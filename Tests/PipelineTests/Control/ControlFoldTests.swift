import Notifications
import Testing

@testable import Pipeline

/// docs/rules.md §13
@Suite("What notifications.control says")
struct ControlFoldTests {
    private static let day: Int64 = 86_400_000
    private static let start: WallTime = 1_751_875_337_000
    private static let value = ControlEntry(why: "wrong \"amounts\"\n", by: "ada@shop", at: start - 7)

    private func fold(
        most: Int = ControlFold.mostCancelled, _ records: [(key: String, value: ControlEntry?, at: WallTime)]
    ) -> ControlView {
        var fold = ControlFold(mostCancelled: most, mostWithdrawn: most)
        for record in records { fold.take(key: Array(record.key.utf8), value: record.value?.json, at: record.at) }
        return fold.view
    }

    private func isCancelled(_ id: String, in view: ControlView, at now: WallTime = start) -> Bool {
        view.cancelled.contains(Hash128(id), at: now)
    }

    @Test("a cancel is of the id in its key, which may have slashes, and a null value takes it back")
    func cancel() {
        let view = fold([("cancel/a", Self.value, Self.start), ("cancel/b/c ö", Self.value, Self.start)])
        #expect(isCancelled("a", in: view) && isCancelled("b/c ö", in: view) && !isCancelled("b", in: view))
        #expect(view.cancelled.count == 2 && view.ignored == 0)
        let back = fold([("cancel/a", Self.value, Self.start), ("cancel/a", nil, Self.start)])
        #expect(!isCancelled("a", in: back) && back.cancelled.count == 0)
    }

    @Test("a cancel and a pause hold for 28 days from the broker's time")
    func longest() {
        let view = fold([("cancel/a", Self.value, Self.start), ("pause/fcm", Self.value, Self.start)])
        for (after, holds) in [(28 * Self.day - 1, true), (28 * Self.day, false)] {
            #expect(isCancelled("a", in: view, at: Self.start + after) == holds)
            #expect(view.isPaused(PauseTarget(.fcm), at: Self.start + after) == holds)
            #expect(view.pauses(at: Self.start + after).count == (holds ? 1 : 0))
        }
    }

    @Test("what a later record is 28 days younger than leaves the memory; one that was cancelled again stays")
    func expired() {
        let late = Self.start + 28 * Self.day
        let view = fold([
            ("cancel/a", Self.value, Self.start), ("cancel/b", Self.value, Self.start),
            ("cancel/b", Self.value, late - 1), ("cancel/c", Self.value, late),
        ])
        #expect(view.cancelled.count == 2)
        #expect(isCancelled("b", in: view, at: late) && isCancelled("c", in: view, at: late))
    }

    @Test("at the limit the oldest cancels leave")
    func bounded() {
        let records = (0..<50).map { (key: "cancel/\($0)", value: Optional(Self.value), at: Self.start + Int64($0)) }
        let view = fold(most: 10, records)
        #expect(view.cancelled.count == 10)
        #expect((0..<50).filter { isCancelled("\($0)", in: view, at: Self.start + 50) } == Array(40..<50))
    }

    @Test("a pause is of a provider or of one of its credentials, each for itself")
    func pauses() {
        let view = fold([
            ("pause/fcm", Self.value, Self.start), ("pause/apns/shop/eu", Self.value, Self.start + 1),
            ("pause/apns", Self.value, Self.start), ("pause/apns", nil, Self.start),
        ])
        #expect(view.isPaused(PauseTarget(.fcm), at: Self.start))
        #expect(!view.isPaused(PauseTarget(.fcm, credential: "shop"), at: Self.start))
        #expect(view.isPaused(PauseTarget(.apns, credential: "shop/eu"), at: Self.start))
        #expect(!view.isPaused(PauseTarget(.apns), at: Self.start))
        let found = view.pauses(at: Self.start)
        #expect(found.map { "\($0.target)" } == ["apns/shop/eu", "fcm"])
        #expect(found.allSatisfy { $0.pause.entry == Self.value } && found[0].pause.recordedAt == Self.start + 1)
    }

    @Test("records of another form are ignored and counted, and change nothing")
    func ignored() {
        let good = Self.value.json
        let bad: [(String, [UInt8])] = [
            ("", good), ("cancel", good), ("cancel/", good), ("pause/", good), ("pause/sms", good),
            ("pause/fcm/", good),
            ("PAUSE/fcm", good), ("address/\(String(repeating: "a", count: 64))", good),
            ("cancel/" + String(repeating: "x", count: 600), good),
            ("cancel/a", []), ("cancel/a", Array("[]".utf8)),
            ("cancel/a", Array(#"{"version":2,"why":"","by":"","at":1}"#.utf8)),
            ("cancel/a", Array(#"{"version":1,"by":"","at":1}"#.utf8)),
            ("cancel/a", Array(#"{"version":1,"why":"","by":"","at":"1"}"#.utf8)),
        ]
        var fold = ControlFold()
        for (key, value) in bad { fold.take(key: Array(key.utf8), value: value, at: Self.start) }
        fold.take(key: [0xFF, 0x2F], value: good, at: Self.start)
        #expect(fold.view.ignored == bad.count + 1)
        #expect(fold.view.cancelled.count == 0 && fold.view.pauses(at: Self.start).isEmpty)
        // Members of later versions are.
        fold.take(
            key: Array("cancel/a".utf8), value: Array(#"{"version":1,"why":"","by":"","at":1,"more":[]}"#.utf8),
            at: Self.start)
        #expect(isCancelled("a", in: fold.view))
    }

    @Test("there are at most 1,000 pauses, and what is paused can be paused again and resumed")
    func manyPauses() {
        let many = (0..<1_001).map { (key: "pause/fcm/\($0)", value: Optional(Self.value), at: Self.start) }
        let view = fold(many + [("pause/fcm/0", Self.value, Self.start + 5), ("pause/fcm/1", nil, Self.start)])
        #expect(view.ignored == 1 && view.pauses(at: Self.start).count == 999)
        #expect(view.pauses[PauseTarget(.fcm, credential: "0")]?.recordedAt == Self.start + 5)
        let whole = fold(many + [("pause/fcm", Self.value, Self.start)])
        #expect(whole.isPaused(PauseTarget(.fcm), at: Self.start), "a provider always can be")
        let late = Self.start + 28 * Self.day
        let after = fold(
            many + [
                ("pause/fcm/more", Self.value, late - 1), ("pause/fcm/more", Self.value, late),
            ])
        #expect(after.ignored == 2 && after.pauses(at: late).map { "\($0.target)" } == ["fcm/more"])
    }

    @Test("a reason of more than 1,024 bytes is cut, between characters")
    func longReason() {
        let entry = ControlEntry(why: String(repeating: "ö", count: 600) + "x", by: "b", at: 0)
        #expect(entry.why == String(repeating: "ö", count: 512) && entry.by == "b")
    }

    @Test(
        "a key is what it was made of",
        arguments: [
            "cancel/a/b", "pause/fcm", "pause/apns/shop", "cancel/\u{301}x", "cancel/\u{FE0F}/\u{200D}",
            "pause/apns/\u{301}",
        ])
    func keys(_ text: String) {
        #expect(ControlKey(Array(text.utf8)).map { Array($0.text.utf8) } == Array(text.utf8))
    }
}
