import Testing

@testable import Digests
@testable import Notifications

@Suite("The last records of a log, as it is recognised by them")
struct RecentFingerprintsTests {
    private func fingerprint(_ offset: Int64, at time: WallTime? = 1_000, key: String? = "k") -> RecordFingerprint {
        RecordFingerprint(
            offset: offset, timestamp: time,
            key: key.map { key in Array(key.utf8).withUnsafeBytes { StoredHash(of: $0) } })
    }

    private func recent(_ offsets: some Sequence<Int64>) -> RecentFingerprints {
        var recent = RecentFingerprints()
        for offset in offsets { recent.append(fingerprint(offset)) }
        return recent
    }

    @Test("the last sixteen are kept, the oldest first, and survive their text")
    func sixteen() throws {
        let recent = recent(1...20)
        #expect(recent.elements.map(\.offset) == Array(5...20))
        #expect(RecentFingerprints(recent.text) == recent)
        #expect(RecentFingerprints("") == RecentFingerprints())
        #expect(RecentFingerprints().text == "")
        var bare = RecentFingerprints()
        bare.append(fingerprint(7, at: nil, key: nil))
        #expect(bare.text == "7:null:null")
        #expect(RecentFingerprints(bare.text) == bare)
    }

    @Test("a text with another word, or with more than sixteen, is none", arguments: ["x", "1:2", "1:2:xyz"])
    func wrongText(word: String) {
        #expect(RecentFingerprints(word) == nil)
        #expect(RecentFingerprints((0...16).map { "\($0):1:null" }.joined(separator: " ")) == nil)
    }

    @Test("the newest record that the log still has decides")
    func newestDecides() {
        let stored = recent([3, 5, 9])
        #expect(stored.judge([fingerprint(9), fingerprint(3, key: "other")]) == .same)
        #expect(
            stored.judge([fingerprint(9, key: "other"), fingerprint(3)])
                == .other(found: fingerprint(9, key: "other"), stored: fingerprint(9)))
        #expect(
            stored.judge([fingerprint(5, at: 2_000), fingerprint(3)])
                == .other(found: fingerprint(5, at: 2_000), stored: fingerprint(5)))
    }

    @Test("a log that has none of the records says nothing")
    func gone() {
        #expect(recent([3, 5]).judge([fingerprint(4), fingerprint(6)]) == .unknown)
        #expect(recent([3, 5]).judge([]) == .unknown)
        #expect(RecentFingerprints().judge([fingerprint(1)]) == .unknown)
    }

    @Test("a record without a key, or without a timestamp, is another one than a record with it")
    func missingParts() {
        var stored = RecentFingerprints()
        stored.append(fingerprint(4, at: nil, key: nil))
        #expect(stored.judge([fingerprint(4, at: nil, key: nil)]) == .same)
        #expect(stored.judge([fingerprint(4, at: nil, key: "")]) != .same)
        #expect(stored.judge([fingerprint(4, at: 0, key: nil)]) != .same)
    }
}
