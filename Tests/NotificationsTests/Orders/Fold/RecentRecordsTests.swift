import Testing

@testable import Digests
@testable import Notifications

@Suite("The last records of a partition, as a checkpoint remembers them")
struct RecentRecordsTests {
    private func note(_ offset: Int64, key: String?, in records: inout RecentRecords) {
        guard let key else { return records.note(offset: offset, timestamp: nil, key: nil) }
        Array(key.utf8).withUnsafeBytes {
            records.note(offset: offset, timestamp: WallTime(milliseconds: offset * 10), key: $0)
        }
    }

    private func fingerprint(_ offset: Int64, key: String?) -> RecordFingerprint {
        guard let key else { return RecordFingerprint(offset: offset, timestamp: nil, key: nil as StoredHash?) }
        return RecordFingerprint(
            offset: offset, timestamp: WallTime(milliseconds: offset * 10),
            key: Array(key.utf8).withUnsafeBytes { StoredHash(of: $0) })
    }

    @Test("sixteen are kept, each with its own key: short, of 64 bytes, longer, empty or none")
    func kept() {
        let keys = ["k", String(repeating: "a", count: 64), String(repeating: "b", count: 65), "", nil]
        var records = RecentRecords()
        for offset in Int64(0)..<100 { note(offset, key: keys[Int(offset % 5)], in: &records) }
        let expected = (Int64(84)..<100).map { fingerprint($0, key: keys[Int($0 % 5)]) }
        #expect(records.fingerprints(below: 100).elements == expected)
        #expect(records.fingerprints(below: 90).elements == Array(expected.prefix(6)))
        #expect(records.fingerprints(below: 84).elements.isEmpty)
    }

    @Test("records that come again after an abort take the places of those that were taken back")
    func again() {
        var records = RecentRecords()
        for offset in Int64(0)..<40 { note(offset, key: "first", in: &records) }
        for offset in Int64(30)..<34 { note(offset, key: "again", in: &records) }
        let expected =
            (Int64(24)..<30).map { fingerprint($0, key: "first") }
            + (Int64(30)..<34).map { fingerprint($0, key: "again") }
        #expect(records.fingerprints(below: 100).elements == expected)
        note(3, key: "far back", in: &records)
        #expect(records.fingerprints(below: 100).elements == [fingerprint(3, key: "far back")])
    }

    @Test("those of a checkpoint are followed by new ones")
    func loaded() {
        var saved = RecordFingerprints(16)
        var records = RecentRecords(saved.recent)
        note(50, key: "new", in: &records)
        saved.recent.append(fingerprint(50, key: "new"))
        #expect(records.fingerprints(below: 51) == saved.recent)
    }

    private struct RecordFingerprints {
        var recent = RecentFingerprints()

        init(_ count: Int64) {
            for offset in 0..<count {
                recent.append(RecordFingerprint(offset: offset, timestamp: 5, key: StoredHash(number: UInt64(offset))))
            }
        }
    }
}
