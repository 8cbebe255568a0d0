import Foundation
import NotificationPayload
import Notifications
import Telemetry
import TestSupport
import Testing

@testable import Broadcasts
@testable import KafkaClient

/// `carillon broadcast` on a real broker: the mock cluster does not look up times.
private struct StatusTrial {
    let trial = BrokerTrial()
    var topic: String { "\(trial.unique).broadcasts" }
    private var settings: Settings { ["bootstrap.servers": BrokerTrial.address] }

    func run(_ words: some Collection<String>) throws -> CommandProcess {
        try trial.carillon(words: Array(words) + ["--set", "topic.broadcasts=\(topic)"])
    }

    /// Topics whose records have the times that their producer gives them.
    func create() throws {
        let admin = try Admin(settings: settings)
        let topics =
            [
                ("\(trial.unique).subscriptions", 4), (topic, 1), ("\(topic).journal", 2),
                ("\(trial.unique).deliveries", 3),
            ] as [(String, Int32)]
        let answers = try admin.createTopics(
            topics.map { NewTopic(name: $0, partitions: $1, replicationFactor: 1, configuration: [:]) },
            validateOnly: false)
        #expect(answers.values.allSatisfy { $0 == nil }, "\(answers)")
        var producer = try Producer(settings: settings)
        for (name, _) in topics { _ = try find(name, by: &producer) }
    }

    /// Waits until the broker that is asked knows the new topic.
    private func find(_ topic: String, by producer: inout Producer) throws -> ProducerTopic {
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            do throws(KafkaError) {
                return try producer.topic(topic, timeout: .seconds(20))
            } catch {
                guard error.kind == .unknownTopicOrPartition, .now < deadline else { throw error }
                producer.poll(timeout: .milliseconds(50))
            }
        }
    }

    func write(_ id: String, at time: WallTime) throws {
        let document =
            #"{"actiontype":"non-display","notificationtype":"enable-feature","notificationid":"\#(id)","expiry":"3600000millis"}"#
        try write(Array(document.utf8), key: id, to: topic, at: time)
    }

    /// As `carillon broadcasts` would, but without a transaction.
    func write(_ entry: BroadcastJournalEntry, at time: WallTime) throws {
        try write(try entry.json(), key: "a-\(entry.passes.count)", to: "\(topic).journal", at: time)
    }

    func writeForeignEntry(at time: WallTime) throws {
        let entry = "{\"v\":\(BroadcastJournalEntry.version + 1)}"
        try write(Array(entry.utf8), key: "a-0", to: "\(topic).journal", at: time)
    }

    private func write(_ value: [UInt8], key: String, to topic: String, at time: WallTime) throws {
        var producer = try Producer(settings: settings)
        let topic = try producer.topic(topic, timeout: .seconds(20))
        let record = ProducerRecord(key: Array(key.utf8), value: value, timestamp: time)
        try producer.produce(record, to: topic)
        try producer.flush(timeout: .seconds(20))
    }

    func write(_ outcome: DeliveryRecord, at time: WallTime) throws {
        var text = ByteWriter()
        outcome.append(to: &text)
        try write(Array(text.bytes), key: outcome.device, to: "\(trial.unique).deliveries", at: time)
    }

    func commit(_ offsets: [Int32: BroadcastOffset]) throws {
        let consumer = try Consumer(assigning: settings, group: "\(trial.unique)-broadcasts", logger: { _ in })
        var list: [TopicPartition: CommittedOffset] = [:]
        for (partition, offset) in offsets {
            list[TopicPartition(topic: "\(trial.unique).subscriptions", partition: partition)] = CommittedOffset(
                offset: Offset(offset.offset), metadata: offset.metadata)
        }
        try consumer.commit(list, timeout: .seconds(30))
    }
}

@Suite("carillon broadcast status", .enabled(if: BrokerTrial.isThere, "needs a broker: set KAFKA_BOOTSTRAP_SERVERS"))
struct BroadcastStatusTests {
    @Test("a status adds what the group has committed and what its journal says since the broadcast")
    func status() throws {
        let trial = StatusTrial()
        let group = "\(trial.trial.unique)-broadcasts"
        let now = WallClock.now
        try trial.create()
        try trial.write("7", at: now - 300_000)
        // Of another log with the same name, before the broadcast.
        try trial.write(.of([.of(0, broadcast: 1, devices: 90, sent: 90)], group: group), at: now - 200_000)
        try trial.write("1235", at: now)
        try trial.commit([0: .at(broadcast: 2), 1: .at(broadcast: 1, isUnderWay: true), 2: .at(broadcast: 1)])
        let passes: [BroadcastJournalEntry.Slice] = [
            .of(0, broadcast: 1, devices: 4, sent: 3, end: .done), .of(1, broadcast: 1, devices: 8, sent: 2),
        ]
        try trial.write(.of([.of(0, broadcast: 0, devices: 7, sent: 7, end: .done)], group: group), at: now)
        try trial.write(.of(passes, group: group), at: now)
        try trial.write(.of([.of(3, broadcast: 1, devices: 9, sent: 9, end: .done)], group: "other"), at: now)

        let result = try trial.run(["broadcast", "status", "1235", "--json"])
        #expect(result.status == 0, "\(result.errors)")
        let status = try #require(PushValue(json: result.output))
        #expect(status["state"] == .string("under_way") && status["record"] == .string("\(trial.topic)/0/1"))
        #expect(status["reached"]?.int == 5 && status["left"]?.int == 1, "\(result.output)")
        #expect(status["devices_counted"]?.int == 12 && status["devices_about"]?.int == 24)
        #expect(status["partitions"]?["waiting"]?.int == 2 && status["partitions"]?["done"]?.int == 1)
        let text = try trial.run(["broadcast", "status", "1235"]).output
        #expect(text.contains("partitions    1 of 4 done, 1 under way, 2 waiting\n"), "\(text)")
        let listed = try trial.run(["broadcast", "list"]).output
        #expect(listed.contains("under way, 1 of 4 partitions\n"), "\(listed)")
        #expect(
            try trial.run(["broadcast", "cancel", "1235", "--yes"]).output.contains("it had reached 5 devices, 1 of 4"))
    }

    @Test("a journal with an entry of another version is refused, with what to do: 78")
    func version() throws {
        let trial = StatusTrial()
        let now = WallClock.now
        try trial.create()
        try trial.write("1235", at: now)
        try trial.writeForeignEntry(at: now)
        let refused = try trial.run(["broadcast", "status", "1235"])
        #expect(refused.status == 78)
        #expect(
            refused.errors.contains(
                " was written by another version of carillon: use that version, or delete it with kafka-delete-records.sh"
            ),
            "\(refused.errors)")
    }

    @Test("an explanation has what the pass did, and what became of the device's own push of this broadcast")
    func explain() throws {
        let trial = StatusTrial()
        let now = WallClock.now
        try trial.create()
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = "\(folder.path)/token"
        try Data("a-made-up-token\n".utf8).write(to: URL(fileURLWithPath: file))
        let words = [
            "subscribe", "--audience", "channel/General", "--platform", "fcm", "--app", "a", "--token-file", file,
        ]
        #expect(try trial.run(words).status == 0)
        try trial.write("1235", at: now)
        let question = ["explain", "--broadcast", "1235", "--device-token-file", file, "--json"]
        let before = try trial.run(question)
        #expect(before.status == 0, "\(before.errors)")
        let waiting = try #require(PushValue(json: before.output))
        #expect(waiting["fates"]?[0]?["outcome"] == .string("waiting") && waiting["sent"] == .bool(false))
        #expect(waiting["outcomes"] == nil)

        let partition = Int32(try #require(waiting["partition"]?.int))
        let device = try #require(waiting["device"]?.string)
        let message = try #require(waiting["message_id"]?.string)
        var entry = BroadcastJournalEntry.of(
            [.of(partition, broadcast: 0, devices: 1, sent: 1, end: .done)], group: "\(trial.trial.unique)-broadcasts")
        entry.ranges = [.init(topic: "\(trial.trial.unique).subscriptions", partition: partition, from: 100, to: 100)]
        try trial.write(entry, at: now)
        for (offset, id) in [(7, message), (8, "msg-other")] as [(Int64, String)] {
            let outcome = DeliveryRecord(
                .accepted, topic: "\(trial.trial.unique).dispatch.broadcasts", partition: 1, offset: offset,
                messageID: id,
                device: device, platform: .fcm, attempts: 1)
            try trial.write(outcome, at: now)
        }
        let sent = try #require(PushValue(json: try trial.run(question).output))
        #expect(sent["fates"]?[0]?["outcome"] == .string("sent") && sent["sent"] == .bool(true))
        #expect(sent["outcomes"]?[0]?["at"] == .string("\(trial.trial.unique).dispatch.broadcasts/1/7"))
        #expect(sent["outcomes"]?[1] == nil)
        let text = try trial.run(question.dropLast()).output
        #expect(text.contains("\nprovider   accepted by fcm, "), "\(text)")
    }
}

extension PushValue {
    fileprivate subscript(index: Int) -> PushValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }
}
