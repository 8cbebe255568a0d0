import Testing

@testable import KafkaClient
@testable import Sender

@Suite("What came between a judgement and its null is written again")
struct RestorationsTests {
    private func restored(_ records: [ConsumerRecord]) -> [ProducerRecord] {
        var restorations = Restorations()
        for record in records { restorations.note(record) }
        return restorations.records
    }

    private func copy(_ offset: Int64, judged: Int64) -> ConsumerRecord {
        ReapSamples.subscription(
            1, written: 50, offset: offset, headers: [ReapMark(evidence: 9, judged: judged).recordHeader])
    }

    private let null = ReapSamples.null(1, offset: 10, ReapMark(evidence: 9, judged: 5))

    @Test("a subscription between the judged offset and the null is written again, with its headers and its time")
    func subscription() {
        let header = RecordHeader("origin", [1])
        let theirs = ReapSamples.subscription(1, written: 50, offset: 7, headers: [header])
        let expected = ProducerRecord(
            key: theirs.key, value: theirs.value, headers: [header, RecordHeader("dead", Array("9/7".utf8))],
            partition: 0, timestamp: 50)
        #expect(restored([theirs, null]) == [expected])
    }

    @Test("the latest one counts, and nothing that came before the judged offset or after the null")
    func others() {
        let first = ReapSamples.subscription(1, written: 50, offset: 6)
        let second = ReapSamples.subscription(1, seen: 60, written: 60, offset: 7)
        #expect(restored([first, second, null]).map(\.value) == [second.value])
        #expect(restored([ReapSamples.subscription(1, written: 50, offset: 5), null]).isEmpty)
        #expect(restored([null, ReapSamples.subscription(1, written: 50, offset: 11)]).isEmpty)
        #expect(restored([first, null, ReapSamples.null(1, offset: 11)]).isEmpty)
        #expect(restored([first]).isEmpty && restored([null]).isEmpty)
    }

    @Test("a null between a subscription and its copy is written again, until there is none")
    func chain() {
        let theirs = ReapSamples.subscription(1, written: 50, offset: 7)
        #expect(restored([theirs, null, copy(11, judged: 7)]).isEmpty)
        let gone = ReapSamples.null(1, offset: 11)
        let again = restored([theirs, null, gone, copy(12, judged: 7)])
        #expect(again.map(\.value) == [nil] && again[0].headers == [RecordHeader("dead", Array("9/11".utf8))])
        let done = ReapSamples.null(1, offset: 13, ReapMark(evidence: 9, judged: 11))
        #expect(restored([theirs, null, gone, copy(12, judged: 7), done]).isEmpty)
    }

    @Test("a null over another's null stays as it is, and so does a later judgement of the same record")
    func nothing() {
        #expect(restored([ReapSamples.null(1, offset: 7), null]).isEmpty)
        let later = ReapSamples.null(1, offset: 20, ReapMark(evidence: 90, judged: 7))
        #expect(restored([ReapSamples.subscription(1, written: 50, offset: 7), null, later]).isEmpty)
    }

    @Test("what is no subscription is not written again: the table does not know it either")
    func malformed() {
        var broken = ReapSamples.subscription(1, written: 50, offset: 7)
        broken.value = [1]
        #expect(restored([broken, null]).isEmpty)
    }
}

@Suite("What the reaper commits")
struct ReapPositionsTests {
    @Test("positions, judged offsets, held credentials and the time of a confirmation survive the metadata")
    func roundTrip() {
        let positions = ReapPositions(
            next: [0: 5, 1: 0, 7: 9], unverified: [0: 4, 3: 1_000_000_000_000, 11: 0, 12: 6], held: ["abcd0123", "ff"],
            confirmed: 1_700_000_000_000)
        #expect(ReapPositions(positions.committed) == positions)
        let verified = ReapPositions(next: [0: 5])
        #expect(verified.committed == [0: CommittedOffset(offset: Offset(5), metadata: "v1")])
        let one = ReapPositions(next: [0: 5], unverified: [2: 7, 1: 3], held: ["ff"], confirmed: 5)
        #expect(one.committed[0]?.metadata == "v1 u=1:3,2:7 h=ff c=5")
    }

    @Test("the metadata stays below 4,096 bytes with 250 partitions of subscriptions to each of deliveries")
    func size() {
        let unverified = Dictionary(
            uniqueKeysWithValues: (0..<1_000).map { (Int32($0), Int64(100_000_000) + Int64($0)) })
        let positions = ReapPositions(next: [0: 1, 1: 1, 2: 1, 3: 1], unverified: unverified)
        #expect(positions.committed.values.allSatisfy { $0.metadata.utf8.count <= 4_096 })
        #expect(ReapPositions(positions.committed) == positions)
    }

    @Test("other metadata says nothing, and words of later versions are ignored")
    func foreign() {
        func read(_ metadata: String) -> ReapPositions {
            ReapPositions([0: CommittedOffset(offset: Offset(5), metadata: metadata)])
        }
        for metadata in ["", "reset by hand", "v2 u=1:3", "v1 x=1", "v1 u=a:b,3", "v1 c=x"] {
            #expect(read(metadata) == ReapPositions(next: [0: 5]))
        }
        #expect(read("v1 x=1 u=1:3") == ReapPositions(next: [0: 5], unverified: [1: 3]))
    }

    @Test("a mark is two numbers")
    func marks() {
        #expect(ReapMark("1000/40") == ReapMark(evidence: 1_000, judged: 40))
        #expect(ReapMark(evidence: 1_000, judged: 40).text == "1000/40")
        for text in ["", "1", "1/", "/1", "1/2/3", "-1/2", "a/b"] { #expect(ReapMark(text) == nil) }
    }

    @Test("the device of a key is its last 64 digits")
    func devices() {
        let hash = ReapSamples.hash(1)
        func ofKey(_ key: String) -> DeviceHash? { Array(key.utf8).withUnsafeBytes { DeviceHash(ofKey: $0) } }
        #expect(ofKey("place/a|b|\(hash)") == DeviceHash(hash) && DeviceHash(hash) != nil)
        #expect(ofKey(hash) == nil && ofKey("place/1|\(hash.dropLast())") == nil)
        #expect(DeviceHash(hash.uppercased()) == nil && DeviceHash(ReapSamples.hash(2)) != DeviceHash(hash))
    }
}
