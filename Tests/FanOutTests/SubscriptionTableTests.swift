import StateStore
import TestSupport
import Testing

@testable import Digests
@testable import Events
@testable import FanOut
@testable import Subscriptions

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
        try table.store(.fcm("a"), .fcm("b"))
        _ = try table.apply([], nextOffsets: offsets, at: noon)
        try table.close()
    }

    @Test(
        "the fold of random upserts and tombstones equals that of a dictionary", arguments: [1, 20_251_121] as [UInt64])
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

    @Test("a table continues at the stored offsets after closing and opening")
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
        "docs/kafka.md 18: a checkpoint older than half of delete.retention.ms is wiped",
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

    @Test("applying no records renews the checkpoint of an idle topic")
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

    @Test("a changed partition count is an error that names both counts, and keeps the table")
    func partitions() throws {
        try fill(topic(start: [0, 0], end: [50, 50]), offsets: [17, 18])
        let error = #expect(throws: SubscriptionTableError.self) {
            _ = try open(topic(start: [0, 0, 0], end: [9, 9, 9]))
        }
        #expect(error?.recovery == .giveUp)
        #expect(error?.description.contains("had 2 partitions and now has 3") == true)
        #expect(try open(topic(start: [0, 0], end: [50, 50])).opening == .resumed(devices: 2))
    }

    @Test("a table that was not closed is checked and continues")
    func unclean() throws {
        try fill(topic())
        try Array("open".utf8).write(toFile: folder.path + "/in-use")
        #expect(try open(topic()).opening == .checked(devices: 2))
    }

    @Test("a table whose check was interrupted is rebuilt from the topic's beginning")
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

    @Test(
        "the checkpoint has cluster, offsets, fingerprints and completeness; one of another version is rejected"
    )
    func checkpoint() throws {
        var records = RecentFingerprints()
        records.append(RecordFingerprint(offset: 7, timestamp: 1_000, key: StoredHash(number: 5)))
        for cluster in [nil, "abc"] {
            for isWhole in [true, false] {
                let checkpoint = TableCheckpoint(
                    topic: "t", cluster: cluster,
                    position: TablePosition(
                        offsets: [1, 2], records: [records, RecentFingerprints()], time: noon, isWhole: isWhole))
                var bytes = checkpoint.encoded()
                #expect(bytes.withUnsafeBytes { TableCheckpoint($0) } == checkpoint)
                var offsets: [Int64] = []
                #expect(bytes.withUnsafeBytes { TableCheckpoint.readHead($0, into: &offsets) } == isWhole)
                #expect(offsets == [1, 2])
                #expect(bytes[..<20].withUnsafeBytes { TableCheckpoint($0) } == nil)
                bytes[0] = 1
                #expect(bytes.withUnsafeBytes { TableCheckpoint($0) } == nil)
            }
        }
    }

    @Test(
        "another cluster's table is wiped; if either cluster is unknown, it is kept", arguments: ["a", "b", nil])
    func cluster(now: String?) throws {
        var stored = topic()
        stored.cluster = "a"
        try fill(stored)
        var found = topic()
        found.cluster = now
        let opening = try open(found).opening
        if now == "b" {
            #expect(opening == .rebuilt(reason: "it was filled from the cluster a, and this one is b"))
        } else {
            #expect(opening == .resumed(devices: 2))
        }
    }

    @Test("locale and time of registration are kept with the device, in the table and in its history")
    func registration() throws {
        var subscription = Subscription.fcm("a")
        subscription.locale = "en-GB"
        subscription.registeredAt = EventTime(milliseconds: 1_700_000_000_000)
        let table = SubscriptionTable.inMemory()
        try table.store(subscription, .fcm("b"))
        let history = SubscriptionHistory(store: MemoryStore())
        for (offset, each) in [subscription, .fcm("b")].enumerated() {
            try Array(each.key.utf8).withUnsafeBytes { key in
                try each.encoded().withUnsafeBytes { value in
                    try history.append(
                        SubscriptionRecord(partition: 0, offset: Int64(offset), key: key, value: value), at: 0)
                }
            }
        }
        try history.flush()
        var reader = try table.makeReader()
        try reader.begin()
        let then = try history.makeReader(.now)
        var list = DeviceList()
        for source in 0..<2 {
            list.removeAll(audiences: 1)
            let audience = UnsafeRawBufferPointer("place/7" as StaticString)
            if source == 0 {
                try reader.addDevices(of: audience, as: 0, limit: 9, to: &list)
            } else {
                try then.addDevices(of: audience, as: 0, limit: 9, to: &list)
            }
            let found = list.devices.map {
                (String(decoding: $0.token, as: UTF8.self), String(decoding: $0.locale, as: UTF8.self), $0.registeredAt)
            }.sorted { $0.0 < $1.0 }
            #expect(found.map(\.0) == ["a", "b"])
            #expect(found.map(\.1) == ["en-GB", ""])
            #expect(found.map(\.2) == [subscription.registeredAt, nil])
        }
    }

    @Test(
        "a text that cannot be a locale is left out, and its device is kept",
        arguments: ["", String(repeating: "x", count: 256), "e n"])
    func oddLocale(locale: String) throws {
        var subscription = Subscription.fcm("a")
        subscription.locale = locale
        let table = SubscriptionTable.inMemory()
        #expect(try table.store(subscription).upserts == 1)
        var reader = try table.makeReader()
        try reader.begin()
        var list = DeviceList()
        list.removeAll(audiences: 1)
        try reader.addDevices(of: UnsafeRawBufferPointer("place/7" as StaticString), as: 0, limit: 9, to: &list)
        #expect(list.devices.map(\.locale.count) == [0])
    }

    @Test("a device of a host's resolver has the given bytes, and neither locale nor time of registration")
    func resolved() {
        var list = DeviceList()
        list.removeAll(audiences: 1)
        list.append(token: "00ff", platform: .apns, app: "com.example", to: 0)
        let device = list.devices[0]
        #expect(String(decoding: device.token, as: UTF8.self) == "00ff")
        #expect(String(decoding: device.app, as: UTF8.self) == "com.example")
        #expect(device.locale.isEmpty)
        #expect(device.registeredAt == nil)
    }

    @Test("every platform and environment has its own code; an entry with an unknown code is foreign")
    func codes() throws {
        #expect(Platform.allCases.allSatisfy { Platform(code: $0.code) == $0 })
        #expect(Set(Platform.allCases.map(\.code)).count == Platform.allCases.count)
        // The code is a bit in a set of platforms, which is one byte.
        #expect(Platform.allCases.allSatisfy { PlatformSet.all.contains(PlatformSet($0)) && $0.code < 8 })
        #expect(PushEnvironment.allCases.allSatisfy { PushEnvironment(code: $0.code) == $0 })
        #expect(Set(PushEnvironment.allCases.map(\.code)).count == PushEnvironment.allCases.count)
        var changes = SubscriptionChanges()
        let record = TableRecord(.fcm("a"))
        let (key, value) = (try #require(record.key), try #require(record.value))
        key.withUnsafeBytes { key in
            value.withUnsafeBytes { value in
                changes.append(SubscriptionRecord(partition: 0, offset: 0, key: key, value: value))
            }
        }
        let written = changes.value(0)
        let stored = Array(try #require(written))
        // The platform, the environment, and whether the token must be escaped.
        for place in [1, 2, 3] {
            var bytes = stored
            func device() -> Device? {
                bytes.withUnsafeBytes {
                    TableEntry.device(StoreEntry(key: changes.key(0), value: $0), audience: 0)
                }
            }
            #expect(device() != nil)
            bytes[place] = 0xFF
            #expect(device() == nil)
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

    @Test("a table whose reading was interrupted continues as incomplete")
    func cutOff() throws {
        try fill(topic())
        do {
            let table = try open(topic()).table
            try table.restart(at: [5], time: noon)
            var changes = SubscriptionChanges()
            _ = try table.apply(&changes, .beginning(at: [9], time: noon))
            try table.close()
        }
        let (table, opening) = try open(topic())
        #expect(opening == .resumed(devices: 0))
        #expect(table.position == .beginning(at: [9], time: noon))
        try table.close()
    }

    @Test("two tables with the same content have the same digest, which another language can compute")
    func digest() throws {
        var developer = Subscription.apns("00ff", of: "place/8")
        developer.environment = .development
        let unseen = Subscription.fcm("b", lastSeen: nil)
        func digest(_ subscriptions: Subscription...) throws -> String {
            let folder = TemporaryFolder()
            let table = try SubscriptionTable.open(directory: folder.path, topic: topic(), now: noon).table
            for each in subscriptions { try table.store(each) }
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

    @Test("inspecting reports the devices and the position of the table; wiping empties it")
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

    @Test("20,000 devices of one audience load in several transactions, on disk")
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
