import KafkaClient
import Testing

@testable import Digests
@testable import Events
@testable import Pipeline

@Suite("Stores recognise the log that they came from")
struct LogCheckTests {
    private func fingerprint(_ offset: Int64, at time: Int64? = 1_000, key: String? = "k") -> RecordFingerprint {
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

    @Test("what is read is what the log still has of the fingerprints' range")
    func range() {
        let stored = recent([10, 12, 25])
        func range(_ start: Int64, _ end: Int64) -> Range<Int64>? {
            LogCheck.range(of: stored, start: Offset(start), end: Offset(end)).map {
                $0.lowerBound.value..<$0.upperBound.value
            }
        }
        #expect(range(0, 100) == 10..<26)
        #expect(range(11, 20) == 11..<20)
        #expect(range(25, 26) == 25..<26)
        #expect(range(26, 100) == nil)
        #expect(range(0, 10) == nil)
        #expect(LogCheck.range(of: RecentFingerprints(), start: Offset(0), end: Offset(9)) == nil)
        #expect(LogCheck.range(of: stored, start: nil, end: Offset(9)) == nil)
    }

    @Test("the log is read between the oldest and the newest fingerprint that it still has", .timeLimit(.minutes(10)))
    func log() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 3)
        let settings = ["bootstrap.servers": cluster.bootstrapServers]
        var producer = try Producer(settings: settings)
        let topic = try producer.topic("t")
        for number in 0..<30 {
            try producer.produce(
                ProducerRecord(
                    key: Array("key-\(number)".utf8), value: nil, partition: 0,
                    timestamp: Timestamp(milliseconds: 1_000)),
                to: topic)
        }
        try producer.flush(timeout: .seconds(10))
        func stored(_ offsets: ClosedRange<Int64>, prefix: String = "key") -> RecentFingerprints {
            var recent = RecentFingerprints()
            for offset in offsets { recent.append(fingerprint(offset, key: "\(prefix)-\(offset)")) }
            return recent
        }
        func judge(_ stored: RecentFingerprints, start: Int64 = 0, partition: Int32 = 0) throws -> LogJudgement? {
            let id = TopicPartition(topic: "t", partition: partition)
            let end = partition == 0 ? Offset(30) : Offset(0)
            return try LogCheck.judge(
                [id: stored], starts: [id: Offset(start)], ends: [id: end], settings: settings, logger: { _ in })[id]
        }
        #expect(try judge(stored(3...18)) == .same)
        #expect(try judge(stored(20...40)) == .same)
        #expect(try judge(stored(29...44)) == .same)
        #expect(try judge(stored(40...50)) == .unknown)
        #expect(try judge(stored(3...18), start: 19) == .unknown)
        #expect(try judge(stored(0...5), partition: 1) == .unknown)
        let other = try judge(stored(3...18, prefix: "another"))
        #expect(
            other == .other(found: fingerprint(18, key: "key-18"), stored: fingerprint(18, key: "another-18")))
        let sentence = other?.difference(in: TopicPartition(topic: "t", partition: 0))
        #expect(sentence?.contains("t/0 has another record at offset 18") == true)
    }
}
