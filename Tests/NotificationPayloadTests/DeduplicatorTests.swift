import NotificationPayload
import TestSupport
import Testing

@Suite("Repeats of a push")
struct DeduplicatorTests {
    private func expect(
        _ seen: inout Deduplicator, _ id: String?, isRepeat expected: Bool,
        at location: SourceLocation = #_sourceLocation
    ) {
        let found = seen.isRepeat(id)
        #expect(found == expected, sourceLocation: location)
    }

    @Test("§6: a push with an id that was here before is a repeat")
    func repeats() {
        var seen = Deduplicator()
        expect(&seen, "msg-1-a", isRepeat: false)
        expect(&seen, "msg-1-b", isRepeat: false)
        expect(&seen, "msg-1-a", isRepeat: true)
        expect(&seen, "msg-1-a", isRepeat: true)
    }

    @Test("without an id nothing is a repeat, and nothing is kept")
    func withoutID() {
        var seen = Deduplicator()
        for id in [nil, "", nil, ""] {
            expect(&seen, id, isRepeat: false)
        }
        #expect(seen.ids.isEmpty)
    }

    @Test("the oldest id is forgotten first, and a repeat makes an id no younger")
    func bounded() {
        var seen = Deduplicator(capacity: 2)
        _ = seen.isRepeat("a")
        _ = seen.isRepeat("b")
        expect(&seen, "a", isRepeat: true)
        _ = seen.isRepeat("c")
        #expect(seen.ids == ["b", "c"])
        expect(&seen, "a", isRepeat: false)
        #expect(seen.ids == ["c", "a"])
    }

    @Test("its state can be saved and restored; of too many ids the last ones are kept")
    func restored() {
        var seen = Deduplicator(capacity: 3)
        for id in ["a", "b", "c", "d", "e"] {
            _ = seen.isRepeat(id)
        }
        var restored = Deduplicator(capacity: 3, ids: seen.ids)
        #expect(restored.ids == ["c", "d", "e"])
        expect(&restored, "c", isRepeat: true)
        expect(&restored, "b", isRepeat: false)
        #expect(Deduplicator(capacity: 2, ids: ["a", "b", "b", "", "c"]).ids == ["b", "c"])
    }

    @Test("a capacity of less than one counts as one")
    func leastCapacity() {
        var seen = Deduplicator(capacity: -5)
        #expect(seen.capacity == 1)
        expect(&seen, "a", isRepeat: false)
        expect(&seen, "a", isRepeat: true)
        expect(&seen, "b", isRepeat: false)
        expect(&seen, "a", isRepeat: false)
    }

    @Test("it answers as a list that is searched from end to end", arguments: [21, 22, 23] as [UInt64])
    func againstAList(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let capacity = Int.random(in: 1...9, using: &generator)
        var seen = Deduplicator(capacity: capacity)
        var list: [String] = []
        for _ in 0..<2_000 {
            let id = "\(Int.random(in: 0..<14, using: &generator))"
            let expected = list.contains(id)
            if !expected { list = (list + [id]).suffix(capacity) }
            let found = seen.isRepeat(id)
            #expect(found == expected, "seed \(seed)")
            #expect(seen.ids == list, "seed \(seed)")
        }
    }
}
