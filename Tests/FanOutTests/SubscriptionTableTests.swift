import NotificationPayload
import TestSupport
import Testing

@testable import Extraction
@testable import FanOut

@Suite("The subscriptions table")
struct SubscriptionTableTests {
    let folder = TemporaryFolder()

    private func topic(
        _ name: String = "notifications.subscriptions", start: [Int64] = [0], end: [Int64] = [1_000]
    ) -> SubscriptionTopic {
        SubscriptionTopic(name: name, startOffsets: start, endOffsets: end, deleteRetention: .seconds(2 * 86_400))
    }

    private func open(_ topic: SubscriptionTopic, at time: EventTime = noon) throws -> (
        table: SubscriptionTable, opening: SubscriptionTableOpening
    ) {
        try SubscriptionTable.open(directory: folder.path, topic: topic, now: time)
    }

    /// A closed table with two devices, up to offset 17.
    private func fill(_ topic: SubscriptionTopic, offsets: [Int64] = [17]) throws {
        let table = try open(topic).table
        try table.subscribe(.fcm("a"), .fcm("b"))
        _ = try table.apply([], nextOffsets: offsets, at: noon)
        try table.close()
    }

    @Test(
        "the fold of random upserts and tombstones is what a dictionary gives", arguments: [1, 20_251_121] as [UInt64])
    func model(seed: UInt64) throws {
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let disk = try open(topic()).table
        let memory = SubscriptionTable.inMemory()
        var model: [String: Set<String>] = [:]
        for step in 0..<25 {
            var records: [TableRecord] = []
            for _ in 0..<Int.random(in: 1...60, using: &random) {
                let audience = "place/\(Int.random(in: 0..<7, using: &random))"
                let subscription = Subscription.fcm("token-\(Int.random(in: 0..<40, using: &random))", of: audience)
                if Int.random(in: 0..<3, using: &random) == 0 {
                    records.append(TableRecord(removing: subscription))
                    model[audience, default: []].remove(subscription.token)
                } else {
                    records.append(TableRecord(subscription))
                    model[audience, default: []].insert(subscription.token)
                }
            }
            #expect(try disk.apply(records, next: Int64(step)) == memory.apply(records, next: Int64(step)))
        }
        for (audience, tokens) in model {
            #expect(try disk.tokens(of: audience) == tokens.sorted())
            #expect(try memory.tokens(of: audience) == tokens.sorted())
        }
        #expect(try disk.count() == model.values.reduce(0) { $0 + $1.count })
        #expect(disk.appliedOffsets == [24])
        try disk.close()
    }

    @Test("the same subscription again is one device, with what the last record says")
    func idempotent() throws {
        let table = SubscriptionTable.inMemory()
        var later = Subscription.apns("00ff")
        later.environment = .development
        later.app = "com.example.Other"
        let change = try table.subscribe(.apns("00ff"), .apns("00ff"), later)
        #expect(change.upserts == 1)
        #expect(try table.count() == 1)
        var reader = try table.makeReader()
        try reader.begin()
        var list = DeviceList()
        list.removeAll(audiences: 1)
        try reader.addDevices(of: UnsafeRawBufferPointer("place/7" as StaticString), as: 0, limit: 9, to: &list)
        let device = try #require(list.devices.first)
        #expect(device.environment == .development)
        #expect(String(decoding: device.app, as: UTF8.self) == "com.example.Other")
        #expect(device.lastSeen == noon)
        #expect(Hex.string(device.hashStart) == later.tokenHash)
    }

    @Test("subscribe and unsubscribe within one batch: the last one counts")
    func lastWins() throws {
        let table = SubscriptionTable.inMemory()
        let a = Subscription.fcm("a")
        try table.apply([TableRecord(a), TableRecord(removing: a)])
        #expect(try table.count() == 0)
        try table.apply([TableRecord(removing: a), TableRecord(a)])
        #expect(try table.tokens(of: "place/7") == ["a"])
    }

    @Test("an audience is not found by a prefix of its name, and a tombstone touches one audience alone")
    func audiences() throws {
        let table = SubscriptionTable.inMemory()
        try table.subscribe(.fcm("a"), .fcm("a", of: "place/77"), .fcm("a", of: "user/7"))
        try table.apply([TableRecord(removing: .fcm("a"))])
        #expect(try table.tokens(of: "place/7").isEmpty)
        #expect(try table.tokens(of: "place/77") == ["a"])
        #expect(try table.tokens(of: "user/7") == ["a"])
    }

    @Test("malformed records are counted and skipped, named by hash, and never stop the others")
    func malformed() throws {
        let table = SubscriptionTable.inMemory()
        let good = Subscription.fcm("good")
        let secret = "this-is-a-secret"
        let key = Array(good.key.utf8)
        let records = [
            TableRecord(key: nil, value: nil),
            TableRecord(key: Array(secret.utf8), value: good.encoded()),
            TableRecord(key: Array("place/7|\(secret)".utf8), value: nil),
            TableRecord(key: Array(good.key.uppercased().utf8), value: good.encoded()),
            TableRecord(key: key, value: []),
            TableRecord(key: key, value: Array("{".utf8)),
            TableRecord(key: key, value: Array(secret.utf8)),
            TableRecord(key: key, value: [0xFF, 0xFE]),
            TableRecord(key: key, value: Subscription.fcm(secret).encoded()),
            TableRecord(key: key, value: Subscription.fcm("good", of: "place/8").encoded()),
            TableRecord(good),
            TableRecord(key: Array("place/7|".utf8) + [UInt8](repeating: 0x67, count: 64), value: nil),
        ]
        let change = try table.apply(records, next: 12)
        #expect(change.upserts == 1)
        #expect(change.malformed == 11)
        #expect(change.examples.count == 10)
        #expect(change.examples.map(\.offset) == Array(0..<10))
        #expect(!"\(change)".contains(secret))
        #expect(change.examples[4].keyHash.count == 64)
        #expect(try table.tokens(of: "place/7") == ["good"])
        #expect(table.appliedOffsets == [12])
    }

    @Test("a malformed value leaves the subscription that was there")
    func malformedUpdate() throws {
        let table = SubscriptionTable.inMemory()
        try table.subscribe(.fcm("a"))
        try table.apply([TableRecord(key: Array(Subscription.fcm("a").key.utf8), value: Array("[]".utf8))])
        #expect(try table.tokens(of: "place/7") == ["a"])
    }

    @Test("it goes on at the stored offsets after closing and opening")
    func resume() throws {
        #expect(try open(topic(start: [5])).opening == .created)
        try fill(topic())
        let (table, opening) = try open(topic())
        #expect(opening == .resumed(devices: 2))
        #expect(table.appliedOffsets == [17])
        #expect(try table.tokens(of: "place/7") == ["a", "b"])
        try table.close()
    }

    @Test("a new table starts where the topic starts")
    func startOffsets() throws {
        #expect(try open(topic(start: [5, 0, 7], end: [9, 9, 9])).table.appliedOffsets == [5, 0, 7])
    }

    @Test(
        "kafka-rules 18: a checkpoint older than half of delete.retention.ms is wiped",
        arguments: [(day, false), (day + 1, true), (-day, false), (-day - 1, true)] as [(Int64, Bool)])
    func age(milliseconds: Int64, isWiped: Bool) throws {
        try fill(topic())
        let (table, opening) = try open(topic(), at: EventTime(milliseconds: noon.milliseconds + milliseconds))
        if isWiped {
            guard case .rebuilt(let reason) = opening else {
                Issue.record("opened as \(opening)")
                return
            }
            #expect(reason.contains("delete.retention.ms"))
            #expect(table.appliedOffsets == [0])
            #expect(try table.count() == 0)
        } else {
            #expect(opening == .resumed(devices: 2))
        }
    }

    @Test("an empty application keeps the checkpoint of an idle topic young")
    func keepAlive() throws {
        try fill(topic())
        let later = EventTime(milliseconds: noon.milliseconds + day)
        let table = try open(topic(), at: later).table
        _ = try table.apply([], nextOffsets: [17], at: later)
        try table.close()
        #expect(
            try open(topic(), at: EventTime(milliseconds: later.milliseconds + day)).opening == .resumed(devices: 2))
    }

    @Test(
        "a stored offset outside the topic wipes the table",
        arguments: [([18], [1_000]), ([0], [16])] as [([Int64], [Int64])])
    func outside(start: [Int64], end: [Int64]) throws {
        try fill(topic())
        guard case .rebuilt(let reason) = try open(topic(start: start, end: end)).opening else {
            Issue.record("the table was kept")
            return
        }
        #expect(reason.contains("offset 17 of partition 0"))
    }

    @Test("an offset at either end of the topic is inside it")
    func inside() throws {
        try fill(topic())
        #expect(try open(topic(start: [17], end: [17])).opening == .resumed(devices: 2))
    }

    @Test("another topic's table is wiped")
    func otherTopic() throws {
        try fill(topic())
        guard case .rebuilt = try open(topic("other")).opening else {
            Issue.record("the table was kept")
            return
        }
    }

    @Test("a changed partition count stops, names both counts, and keeps the table")
    func partitions() throws {
        try fill(topic(start: [0, 0], end: [50, 50]), offsets: [17, 18])
        let error = #expect(throws: SubscriptionTableError.self) {
            _ = try open(topic(start: [0, 0, 0], end: [9, 9, 9]))
        }
        #expect(error?.recovery == .giveUp)
        #expect(error?.description.contains("had 2 partitions and now has 3") == true)
        #expect(try open(topic(start: [0, 0], end: [50, 50])).opening == .resumed(devices: 2))
    }

    @Test("a table that was not closed is checked and goes on")
    func unclean() throws {
        try fill(topic())
        try Array("open".utf8).write(toFile: folder.path + "/in-use")
        #expect(try open(topic()).opening == .checked(devices: 2))
    }

    @Test("a table whose check died is rebuilt from the topic's beginning")
    func checkDied() throws {
        try fill(topic())
        try Array("checking".utf8).write(toFile: folder.path + "/in-use")
        let (table, opening) = try open(topic())
        guard case .rebuilt = opening else {
            Issue.record("opened as \(opening)")
            return
        }
        #expect(table.appliedOffsets == [0])
    }

    @Test("the table of another version is wiped")
    func otherVersion() throws {
        let checkpoint = TableCheckpoint(topic: "t", time: noon, offsets: [1, 2])
        var bytes = checkpoint.encoded()
        #expect(bytes.withUnsafeBytes { TableCheckpoint($0) } == checkpoint)
        bytes[0] = 99
        #expect(bytes.withUnsafeBytes { TableCheckpoint($0) } == nil)
        #expect(bytes[..<10].withUnsafeBytes { TableCheckpoint($0) } == nil)
    }

    @Test("two tables that hold the same have the same digest, which another language computes as well")
    func digest() throws {
        var developer = Subscription.apns("00ff", of: "place/8")
        developer.environment = .development
        let unseen = Subscription.fcm("b", lastSeen: nil)
        func digest(_ subscriptions: Subscription...) throws -> String {
            let folder = TemporaryFolder()
            let table = try SubscriptionTable.open(directory: folder.path, topic: topic(), now: noon).table
            for each in subscriptions { try table.subscribe(each) }
            try table.close()
            return try SubscriptionTable.inspect(directory: folder.path).digest
        }
        // Python: XOR of hashlib.sha256(line.encode()) over the three lines.
        let expected = "13e72eef69d7e7d021ec62fd044f3b62a88183c0048df476bd88fde4b0e976d2"
        #expect(try digest(.fcm("a"), unseen, developer) == expected)
        #expect(try digest(developer, .fcm("a"), .fcm("a"), .fcm("b"), unseen) == expected)
        #expect(try digest(.fcm("a"), unseen) != expected)
        #expect(try digest(.fcm("a"), .fcm("b"), developer) != expected)
        #expect(try digest(.fcm("a"), unseen, .apns("00ff", of: "place/8")) != expected)
        #expect(try digest() == String(repeating: "0", count: 64))
    }

    @Test("inspecting counts the devices and tells where the table stands; wiping empties it")
    func inspect() throws {
        try fill(topic())
        let inspection = try SubscriptionTable.inspect(directory: folder.path)
        #expect(inspection.devices == 2)
        #expect(inspection.topic == "notifications.subscriptions")
        #expect(inspection.offsets == [17])
        #expect(inspection.checkpointTime == noon)
        #expect(inspection.wiped == nil)
        try SubscriptionTable.wipe(directory: folder.path)
        #expect(try SubscriptionTable.inspect(directory: folder.path).devices == 0)
    }

    @Test("20,000 devices on one audience load in pieces without slowing down, on disk")
    func oneAudience() throws {
        let table = try open(topic()).table
        for chunk in 0..<4 {
            let records = (0..<5_000).map { TableRecord(.fcm("token-\(chunk * 5_000 + $0)")) }
            #expect(try table.apply(records, next: Int64(chunk)).upserts == 5_000)
        }
        #expect(try table.tokens(of: "place/7").count == 20_000)
        try table.close()
    }
}
