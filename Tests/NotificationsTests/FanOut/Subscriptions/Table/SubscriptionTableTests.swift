import StageSupport
import TestSupport
import Testing

@testable import Digests
@testable import Notifications

@Suite("The subscriptions table")
struct SubscriptionTableTests {
    @Test(
        "the fold of random upserts and tombstones equals that of a dictionary", arguments: [1, 20_251_121] as [UInt64])
    func model(seed: UInt64) throws {
        let trial = TableTrial()
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let disk = try trial.open(trial.topic()).table
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

    @Test("a repeated subscription is one device, with the values of the last record")
    func idempotent() throws {
        let table = SubscriptionTable.inMemory()
        var later = Subscription.apns("00ff")
        later.environment = .development
        later.app = "com.example.Other"
        let change = try table.store(.apns("00ff"), .apns("00ff"), later)
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

    @Test("an audience is not found by a prefix of its name, and a tombstone affects only one audience")
    func audiences() throws {
        let table = SubscriptionTable.inMemory()
        try table.store(.fcm("a"), .fcm("a", of: "place/77"), .fcm("a", of: "user/7"))
        try table.apply([TableRecord(removing: .fcm("a"))])
        #expect(try table.tokens(of: "place/7").isEmpty)
        #expect(try table.tokens(of: "place/77") == ["a"])
        #expect(try table.tokens(of: "user/7") == ["a"])
    }

    @Test("malformed records are counted, skipped and named by hash, and the others are applied")
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

    @Test("a malformed value leaves the existing subscription")
    func malformedUpdate() throws {
        let table = SubscriptionTable.inMemory()
        try table.store(.fcm("a"))
        try table.apply([TableRecord(key: Array(Subscription.fcm("a").key.utf8), value: Array("[]".utf8))])
        #expect(try table.tokens(of: "place/7") == ["a"])
    }

    @Test("a table that is read again has no new snapshot until it is complete, and earlier snapshots stay valid")
    func restart() throws {
        let table = SubscriptionTable.inMemory()
        try table.store(.fcm("a"), .fcm("b"))
        var before = try table.makeReader()
        try before.begin()
        try table.restart(at: [5], time: noon)
        #expect(try before.count() == 2)
        #expect(table.position == .beginning(at: [5], time: noon))
        var reader = try table.makeReader()
        var changes = SubscriptionChanges()
        for offset in [6, 9] as [Int64] {
            _ = try table.apply(&changes, .beginning(at: [offset], time: noon))
            let error = #expect(throws: SubscriptionTableError.self) { try reader.begin() }
            #expect(error?.recovery == .retry)
        }
        _ = try table.apply(&changes, TablePosition(offsets: [9], records: [.init()], time: noon, isWhole: true))
        try reader.begin()
        #expect(reader.offsets == [9])
        #expect(try reader.count() == 0)
    }

    @Test("20,000 devices of one audience load in several transactions, on disk")
    func oneAudience() throws {
        let trial = TableTrial()
        let table = try trial.open(trial.topic()).table
        for chunk in 0..<4 {
            let records = (0..<5_000).map { TableRecord(.fcm("token-\(chunk * 5_000 + $0)")) }
            #expect(try table.apply(records, next: Int64(chunk)).upserts == 5_000)
        }
        #expect(try table.tokens(of: "place/7").count == 20_000)
        try table.close()
    }
}
