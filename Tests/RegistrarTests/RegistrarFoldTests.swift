import Foundation
import KafkaClient
import Notifications
import Pipeline
import StateStore
import TestSupport
import Testing

@testable import Registrar

@Suite("The registrar's table on disk")
struct RegistrarFoldTests {
    private let folder = TemporaryFolder()
    private let now = WallTime(milliseconds: 1_764_000_000_000)
    private let topics = {
        var topics = PipelineConfiguration.Topics()
        topics.commands = "notifications.commands"
        return topics
    }()

    private func partitions(_ offset: Int64) -> [TopicPartition: Offset] {
        let all = topics.foldedByRegistrar.map { TopicPartition(topic: $0, partition: 0) }
        return Dictionary(uniqueKeysWithValues: all.map { ($0, Offset(offset)) })
    }

    private func open(
        ends: Int64 = 100, cluster: String? = "c", at time: WallTime? = nil, isKnown: Bool = true
    ) throws -> (fold: RegistrarFold, rebuilt: String?) {
        try RegistrarFold.open(
            folder.path, topics, cluster: cluster, starts: partitions(0), ends: partitions(ends), largestAge: 1_000,
            now: time ?? now, isKnown: isKnown)
    }

    private func device(revision: Int64 = 7) -> DeviceState {
        var state = DeviceState("phone", revision: revision, registeredAt: now)
        state.address = .live(Address(.registrationToken, "token-a", since: now))
        state.app = "com.example.shop"
        return state
    }

    private func take(_ fold: RegistrarFold, _ topic: String, _ records: [(key: String, value: [UInt8]?)]) throws {
        var batch = RecordBatch()
        for (offset, record) in records.enumerated() {
            batch.append(
                copying: ProducerRecord(key: Array(record.key.utf8), value: record.value), at: Int64(offset),
                of: TopicPartition(topic: topic, partition: 0))
        }
        try fold.take(batch)
    }

    @Test("it continues where it was stored")
    func continues() throws {
        let fold = try open().fold
        #expect(fold.missing(upTo: partitions(100)).values.allSatisfy { $0 == 0..<100 })
        try take(fold, topics.devices, [(device().id.text, device().json)])
        fold.reached(partitions(100).mapValues(\.value))
        #expect(fold.newestRevision == 7)
        try fold.flush()
        try fold.table.close()

        let opened = try open(ends: 120)
        #expect(opened.rebuilt == nil)
        #expect(opened.fold.missing(upTo: partitions(120)).values.allSatisfy { $0 == 100..<120 })
        #expect(try opened.fold.table.device("phone") == device())
        try opened.fold.table.close()
    }

    @Test(
        "it is filled again where the logs cannot bring it up to date, or are others",
        arguments: [
            ("it is of another cluster", 100, "other", 0, true),
            ("notifications.devices/0 ends before what was read of it", 99, "c", 0, true),
            ("it is so old that it may have missed what was deleted", 100, "c", 1_001, true),
            ("the group has no offset", 100, "c", 0, false),
        ] as [(String, Int64, String, Int64, Bool)])
    func filledAgain(reason: String, ends: Int64, cluster: String, later: Int64, isKnown: Bool) throws {
        let fold = try open().fold
        try take(fold, topics.devices, [(device().id.text, device().json)])
        fold.reached([TopicPartition(topic: topics.devices, partition: 0): 100])
        try fold.flush()
        try fold.table.close()
        let opened = try open(ends: ends, cluster: cluster, at: now + later, isKnown: isKnown)
        #expect(opened.rebuilt == reason)
        #expect(try opened.fold.table.device("phone") == nil)
        #expect(opened.fold.missing(upTo: partitions(ends)).values.allSatisfy { $0 == 0..<ends })
        try opened.fold.table.close()
    }

    @Test("an address that moved is its new device's, whichever partition of devices is read first")
    func anyOrder() throws {
        var world = try RegistrarWorld()
        let first = try #require(try world.decide(.put("phone-a", "token-x")).devices.first?.state)
        world.time = world.time + 1
        let claim = try world.decide(.put("phone-b", "token-x")).devices
        let (claimed, second) = (claim[0].state, claim[1].state)
        #expect(claimed?.id == "phone-a" && second?.id == "phone-b")
        let ofFirst = [first, claimed].compactMap { $0 }
        for records in [ofFirst + [second], [second] + ofFirst] {
            let table = try RegistrarTable(MemoryStore())
            for state in records.compactMap({ $0 }) { try table.set(state.id, state) }
            #expect(try table.owner(of: AddressHash(of: "token-x")) == "phone-b")
        }
    }

    @Test("a record in another partition than its key's, from before there were more of them, is none")
    func moved() throws {
        let places = (0..<2).map { TopicPartition(topic: topics.devices, partition: $0) }
        let ids = ["phone-a", "phone-b", "phone-c", "phone-d"].map { DeviceID(stringLiteral: $0) }
        let fold = RegistrarFold(
            try RegistrarTable(MemoryStore()), topics,
            at: RegistrarCheckpoint(cluster: nil, time: now, positions: [places[0]: 0, places[1]: 0]))
        var batch = RecordBatch()
        for (offset, id) in ids.enumerated() {
            let state = DeviceState(id, revision: 1, registeredAt: now)
            batch.append(
                copying: ProducerRecord(key: Array(id.text.utf8), value: state.json), at: Int64(offset), of: places[0])
        }
        try fold.take(batch)
        let kept = try ids.filter { try fold.table.device($0) != nil }
        let inPlace = ids.filter { id in
            Array(id.text.utf8).withUnsafeBytes { Murmur2.partition(of: $0, count: 2) } == 0
        }
        #expect(kept == inPlace && !kept.isEmpty && kept.count < ids.count)
    }

    @Test("a record that is not of this version is counted, and as if it were not there")
    func foreign() throws {
        let fold = try open().fold
        let older = Array(
            String(decoding: device().json, as: UTF8.self).replacing("\"version\":2", with: "\"version\":1").utf8)
        try take(
            fold, topics.devices,
            [
                (device().id.text, older), ("short", device().json), ("another-installation", device().json),
                (device().id.text, Array("{".utf8)),
            ])
        try take(fold, topics.people, [("18", PersonState("17", revision: 1).json)])
        try take(fold, topics.erasures, [("17", Erasure(PersonHash("17"), at: now).json)])
        #expect(fold.foreign == 6 && fold.newestRevision == nil)
        #expect(try fold.table.device("phone") == nil)
        try fold.table.close()
    }

    @Test("erasures are known by the hash of the person's id alone")
    func erasures() throws {
        let fold = try open().fold
        let erasure = Erasure(PersonHash("17"), at: now, addresses: [AddressHash(of: "token-a"): now - 1])
        try take(fold, topics.erasures, [(PersonHash("17").hex, erasure.json)])
        #expect(try fold.table.erasure(of: "17") == erasure)
        #expect(try fold.table.erasure(of: "18") == nil)
        #expect(try fold.table.erasure(of: AddressHash(of: "token-a")) == now - 1)
        #expect(try fold.table.erasure(of: AddressHash(of: "token-b")) == nil)
        try fold.table.close()
    }

    @Test(
        "the addresses that are subscribed as a person are found, also after a start; those of places are not kept so")
    func addressesOfPeople() throws {
        let fold = try open().fold
        func record(_ audience: String, _ token: String) -> (key: String, value: [UInt8]?) {
            let subscription = Subscription(audience: audience, token: token, platform: .fcm, app: "")
            return (subscription.key, subscription.encoded())
        }
        let (a, b) = (record("user/17", "token-a"), record("user/17", "token-b"))
        try take(
            fold, topics.subscriptions,
            [a, b, record("user/18", "token-c"), record("place/17", "token-d"), (a.key, nil)])
        #expect(try fold.table.addresses(of: "17") == [AddressHash(of: "token-b")])
        #expect(try fold.table.addresses(of: "place/17").isEmpty)
        fold.reached(partitions(100).mapValues(\.value))
        try fold.flush()
        try fold.table.close()
        let again = try open().fold
        #expect(try again.table.addresses(of: "17") == [AddressHash(of: "token-b")])
        try again.table.close()
    }

    @Test("a subscription in a wrong partition is none; one whose value is none is known all the same, to be deleted")
    func subscriptions() throws {
        let fold = try open().fold
        let key = SubscriptionKey(audience: "place/7", token: "token-a")
        try take(fold, topics.subscriptions, [(key.text, Array("{".utf8)), ("place/7|token-a", [])])
        #expect(try fold.table.subscriptions(of: AddressHash(of: "token-a")).map(\.audience) == ["place/7"])
        try fold.table.close()
    }

    @Test(
        "by audience it finds who is subscribed, also what waits for the store, and after a start; no token is stored")
    func subscribers() throws {
        let fold = try RegistrarFold.open(
            folder.path, topics, by: .audience, cluster: "c", starts: partitions(0), ends: partitions(100),
            largestAge: 1_000, now: now, isKnown: true
        ).fold
        func record(_ audience: String, _ token: String) -> (key: String, value: [UInt8]?) {
            let subscription = Subscription(
                audience: audience, token: token, platform: .fcm, addressKind: .installationID, app: "com.example.shop",
                environment: .development, locale: "de-AT", lastSeenAt: now)
            return (subscription.key, subscription.encoded())
        }
        func found(_ table: RegistrarTable, after last: AddressHash? = nil, limit: Int = 100) throws -> [String] {
            try table.subscribers(of: "place/7", after: last, limit: limit).map(\.address.hex)
        }
        let (a, b) = (record("place/7", "token-a"), record("place/7", "token-b"))
        let hashes = ["token-a", "token-b"].map { AddressHash(of: $0) }.sorted { $0.hex < $1.hex }
        try take(
            fold, topics.subscriptions,
            [
                a, b, record("place/8", "token-c"), (a.key, nil), (b.key, Array("{".utf8)),
                ("place/7|token-a", a.value), a,
            ])
        #expect(try found(fold.table) == hashes.map(\.hex))
        #expect(
            try found(fold.table, after: hashes[0]) == [hashes[1].hex] && found(fold.table, limit: 1) == [hashes[0].hex]
        )
        #expect(try fold.table.subscriptions(of: hashes[0]).isEmpty)
        fold.reached(partitions(100).mapValues(\.value))
        try fold.flush()
        #expect(try found(fold.table) == hashes.map(\.hex))
        try take(fold, topics.subscriptions, [(a.key, nil)])
        #expect(try found(fold.table) == [AddressHash(of: "token-b").hex])
        try fold.flush()
        try fold.table.close()
        let again = try RegistrarFold.open(
            folder.path, topics, by: .audience, cluster: "c", starts: partitions(0), ends: partitions(100),
            largestAge: 1_000, now: now, isKnown: true)
        #expect(again.rebuilt == nil)
        let subscriber = try #require(try again.fold.table.subscribers(of: "place/7", after: nil, limit: 2).first)
        #expect(subscriber.address == AddressHash(of: "token-b") && subscriber.kind == .installationID)
        #expect(subscriber.app == "com.example.shop" && subscriber.environment == .development)
        #expect(subscriber.locale == "de-AT" && subscriber.lastSeen == now)
        try again.fold.table.close()
        let stored = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .reduce(into: Data()) { $0.append(try Data(contentsOf: URL(filePath: "\(folder.path)/\($1)"))) }
        #expect(stored.range(of: Data("com.example.shop".utf8)) != nil)
        #expect(stored.range(of: Data("token-".utf8)) == nil)
    }

    @Test("of subscriptions by audience few wait for the store, so that a page does not look at many")
    func waiting() throws {
        let fold = RegistrarFold(
            try RegistrarTable(MemoryStore()), topics, by: .audience,
            at: RegistrarCheckpoint(cluster: nil, time: now, positions: partitions(0).mapValues(\.value)))
        for batch in 1...4 {
            let records = (0..<1_000).map { number -> (key: String, value: [UInt8]?) in
                (SubscriptionKey(audience: "channel/all", token: "\(batch)-\(number)").text, nil)
            }
            try take(fold, topics.subscriptions, records)
            #expect(fold.table.pendingCount == batch * 1_000 && fold.isFull == (batch == 4))
        }
        try fold.flush()
        #expect(fold.table.pendingCount == 0 && !fold.isFull)
    }

    @Test(
        "what is being stored is read meanwhile, also where something newer comes; what cannot be stored is there again"
    )
    func flushing() throws {
        let table = try RegistrarTable(MemoryStore())
        func put(_ audience: String, _ tokens: String...) {
            for token in tokens {
                table.set(SubscriptionKey(audience: audience, token: token), Array(token.utf8))
            }
            table.commit()
        }
        func audiences(_ token: String) throws -> [ByteText] {
            try table.subscriptions(of: AddressHash(of: token)).map(\.audience).sorted()
        }
        put("place/1", "a", "b")
        for isWritten in [false, true] {
            let flush = table.beginFlush([7])
            put("place/2", "a")
            table.set(SubscriptionKey(audience: "place/1", token: "b"), nil as [UInt8]?)
            table.commit()
            #expect(try audiences("a") == ["place/1", "place/2"] && audiences("b") == [])
            if isWritten { try flush.write() }
            try table.end(flush, isWritten: isWritten)
            #expect(try audiences("a") == ["place/1", "place/2"] && audiences("b") == [])
            #expect(table.pendingCount == (isWritten ? 2 : 3))
        }
        #expect(try table.checkpoint() == [7])
    }

    @Test("what it stores about itself is read again, and of another version it is not")
    func checkpoint() {
        let checkpoint = RegistrarCheckpoint(
            cluster: nil, time: now, positions: partitions(7).mapValues(\.value))
        #expect(RegistrarCheckpoint(checkpoint.bytes) == checkpoint)
        for text in ["", "v1 t=1\n", "v2 t=x\n", "v2 t=1", "v2 t=1\nc\ntopic 0", "v2 t=1\nc\ntopic x 1"] {
            #expect(RegistrarCheckpoint(Array(text.utf8)) == nil, "\(text)")
        }
    }
}
