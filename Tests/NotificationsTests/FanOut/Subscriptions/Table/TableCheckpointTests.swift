import StageSupport
import Testing

@testable import Digests
@testable import Notifications

@Suite("The checkpoint of the subscriptions table")
struct TableCheckpointTests {
    @Test(
        "the checkpoint has cluster, offsets, fingerprints, unreadable partitions and completeness; one of another version is rejected"
    )
    func checkpoint() throws {
        var records = RecentFingerprints()
        records.append(RecordFingerprint(offset: 7, timestamp: 1_000, key: StoredHash(number: 5)))
        for cluster in [nil, "abc"] {
            for isWhole in [true, false] {
                let checkpoint = TableCheckpoint(
                    topic: "t", cluster: cluster,
                    position: TablePosition(
                        offsets: [1, 2], records: [records, RecentFingerprints()], time: noon, isWhole: isWhole,
                        unreadable: isWhole ? [0, 11] : []))
                var bytes = checkpoint.encoded()
                #expect(bytes.withUnsafeBytes { TableCheckpoint($0) } == checkpoint)
                var offsets: [Int64] = []
                #expect(bytes.withUnsafeBytes { TableCheckpoint.readHead($0, into: &offsets) } == isWhole)
                #expect(offsets == [1, 2])
                #expect(bytes.withUnsafeBytes { TableCheckpoint($0) }?.position.unreadable == (isWhole ? [0, 11] : []))
                #expect(bytes[..<20].withUnsafeBytes { TableCheckpoint($0) } == nil)
                bytes[0] = 1
                #expect(bytes.withUnsafeBytes { TableCheckpoint($0) } == nil)
            }
        }
    }

    @Test("a checkpoint with any other value for completeness counts as another version's")
    func wholeCode() throws {
        let position = TablePosition(offsets: [9], records: [.init()], time: noon, isWhole: true)
        let checkpoint = TableCheckpoint(topic: "subscriptions", cluster: nil, position: position)
        func read(_ isWhole: UInt8) -> Bool? {
            var bytes = checkpoint.encoded()
            bytes[1] = isWhole
            return bytes.withUnsafeBytes { TableCheckpoint($0) }?.position.isWhole
        }
        #expect(read(1) == true)
        #expect(read(0) == false)
        #expect(read(2) == nil)
    }
}
