import KafkaClient
import Testing

@testable import Digests
@testable import Notifications
@testable import Pipeline

@Suite("Stores recognise the log that they came from")
struct LogCheckTests {
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

    @Test("the newest fingerprint that the log still has decides, however old it is", .timeLimit(.minutes(30)))
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
                    timestamp: 1_000),
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
        var gaps = stored(3...3)
        gaps.append(fingerprint(40, key: "key-40"))
        #expect(try judge(gaps) == .same, "the newest that the log has is not the newest that is stored")
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
