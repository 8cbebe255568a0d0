import Foundation
import Notifications
import StateStore
import TestSupport
import Testing

@testable import Broadcasts

@Suite("Opening a table of channels")
struct ChannelTableOpeningTests {
    private let device = TestDevice(1)

    private static func log(
        partition: Int32 = 3, topic: String = "subscriptions", cluster: String? = "c", start: Int64 = 0,
        committed: Int64 = 100, now: WallTime = 1_000_000
    ) -> ChannelTable.Log {
        ChannelTable.Log(
            origin: .init(topic: topic, partition: partition, cluster: cluster), start: start, committed: committed,
            largestAge: 10_000, now: now)
    }

    /// A folder with the table of offset 50, of the time 1,000,000.
    private func fill(_ folder: TemporaryFolder) throws {
        let table = try ChannelTable.open(folder.path, Self.log()).table
        try device.key(in: "channel/a").withUnsafeBytes { key in
            try device.value(in: "channel/a", seen: nil).withUnsafeBytes { value in
                _ = try table.apply(.init(partition: 3, offset: 49, key: key, value: value), timestamp: 1)
            }
        }
        table.commit()
        try table.flush(at: 50)
        try table.close()
    }

    @Test("without a store the fold begins where the log begins")
    func created() throws {
        let folder = TemporaryFolder()
        let opened = try ChannelTable.open(folder.path, Self.log(start: 7))
        #expect(opened.table.stored == 7 && opened.rebuilt == nil && opened.records.elements.isEmpty)
        #expect(opened.table.time == 1_000_000)
    }

    @Test("a table continues where it was stored, with its devices, its age and its last records")
    func continues() throws {
        let folder = TemporaryFolder()
        try fill(folder)
        let opened = try ChannelTable.open(folder.path, Self.log(now: 1_000_500))
        #expect(opened.table.stored == 50 && opened.rebuilt == nil && opened.table.time == 1_000_000)
        #expect(opened.records.elements.map(\.offset) == [49])
        #expect(try opened.table.count(ChannelHash(of: "channel/a"), joinedBelow: 50) == 1)
    }

    @Test(
        "a table that the log cannot bring up to date begins again, and says why",
        arguments: [
            (log(partition: 4), "it is not of this partition, or not of this version"),
            (log(topic: "other"), "it is not of this partition, or not of this version"),
            (log(cluster: "d"), "it is not of this partition, or not of this version"),
            (log(start: 51), "the log no longer has what follows it"),
            (log(committed: 49), "the group has committed an offset before it"),
            (log(now: 1_010_001), "it is so old that it may have missed unsubscriptions"),
            (log(now: 989_999), "it is so old that it may have missed unsubscriptions"),
        ])
    func wiped(log: ChannelTable.Log, reason: String) throws {
        let folder = TemporaryFolder()
        try fill(folder)
        let opened = try ChannelTable.open(folder.path, log)
        #expect(opened.rebuilt == reason)
        #expect(opened.table.stored == log.start && opened.records.elements.isEmpty)
        #expect(opened.table.time == log.now)
        #expect(try opened.table.count(ChannelHash(of: "channel/a"), joinedBelow: .max) == 0)
    }

    @Test(
        "what is just so is used",
        arguments: [
            log(start: 50), log(committed: 50), log(now: 1_010_000), log(now: 990_000), log(cluster: nil),
        ])
    func atTheLimit(log: ChannelTable.Log) throws {
        let folder = TemporaryFolder()
        try fill(folder)
        let opened = try ChannelTable.open(folder.path, log)
        #expect(opened.rebuilt == nil && opened.table.stored == 50)
    }

    @Test(
        "a table of a version whose checkpoint cannot be read begins again", arguments: ["v2 p=3 o=5 t=6\n\n\n", "x"])
    func otherVersion(checkpoint: String) throws {
        let folder = TemporaryFolder()
        let store = try DiskStore.open(folder.path).store
        try store.write { writer throws(StoreError) in
            try Array(checkpoint.utf8).withBytes { text throws(StoreError) in try writer.setCheckpoint(text) }
        }
        try store.close()
        let opened = try ChannelTable.open(folder.path, Self.log())
        #expect(opened.rebuilt == "it is not of this partition, or not of this version")
    }

    @Test("a damaged store begins again")
    func damaged() throws {
        let folder = TemporaryFolder()
        try fill(folder)
        try Data("damaged".utf8).write(to: URL(fileURLWithPath: folder.path + "/data.mdb"))
        let opened = try ChannelTable.open(folder.path, Self.log())
        #expect(opened.rebuilt?.isEmpty == false && opened.table.stored == 0)
    }

    @Test("a table that is not to be used is wiped without a look at it")
    func openWiped() throws {
        let folder = TemporaryFolder()
        try fill(folder)
        let table = try ChannelTable.openWiped(folder.path, Self.log(start: 3))
        #expect(table.stored == 3)
        #expect(try table.count(ChannelHash(of: "channel/a"), joinedBelow: .max) == 0)
    }

    @Test("a checkpoint is read as it was written, with and without a cluster", arguments: ["c", nil])
    func checkpoint(cluster: String?) throws {
        var checkpoint = ChannelCheckpoint(offset: 5, time: 6)
        checkpoint.records.append(.init(offset: 4, timestamp: nil, key: UnsafeRawBufferPointer?.none))
        let origin = ChannelCheckpoint.Origin(topic: "t", partition: 2, cluster: cluster)
        let read = Array(checkpoint.text(origin).utf8).withUnsafeBytes { ChannelCheckpoint.read($0) }
        #expect(read?.origin == origin && read?.checkpoint == checkpoint)
    }
}
