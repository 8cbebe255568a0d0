import Deliveries
import Extraction
import KafkaClient
import NotificationPayload
import Pipeline
import StateStore
import Subscriptions
import Testing

@testable import Replay

/// On librdkafka's mock cluster: what is read of a cluster, and in which groups and topics.
@Suite(.timeLimit(.minutes(10)))
struct DeliveryCheckTests {
    private static let device = Array(String(repeating: "0a", count: 32).utf8)
    private let cluster: MockCluster
    private var configuration: PipelineConfiguration

    init() throws {
        cluster = try MockCluster()
        configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": cluster.bootstrapServers], stateDirectory: "",
            rules: try ExtractionRules(timeZone: "Europe/Berlin"))
        configuration.delivery.retries = [.seconds(10)]
        for topic in ["notifications.dispatch", "notifications.dispatch.retry.10s", "notifications.deliveries"] {
            try cluster.createTopic(topic, partitions: 2)
        }
    }

    private var context: ReplayContext {
        ReplayContext(configuration: configuration, scratch: Scratch(), now: 0, logger: { _ in })
    }

    private func check(listing: Int = 20) throws -> LaneAuditReport {
        try DeliveryCheck(context, of: "notifications.dispatch", from: nil, mostListed: listing).run()
    }

    private func write(_ records: [(topic: String, ProducerRecord)]) throws {
        var producer = try Producer(settings: configuration.kafka)
        for (name, record) in records { try producer.produce(record, to: try producer.topic(name)) }
        try producer.flush(timeout: .seconds(20))
    }

    private func dispatch(_ platform: Platform, _ id: String, note: RetryNote? = nil) -> ProducerRecord {
        var headers = [
            RecordHeader("message-id", Array(id.utf8)), RecordHeader("platform", Array(platform.rawValue.utf8)),
            RecordHeader("expires-at", Array("1700".utf8)),
        ]
        if let note { headers.append(RecordHeader("delivery", Array(note.text.utf8))) }
        return ProducerRecord(key: Self.device, value: Array("{}".utf8), headers: headers, partition: 1)
    }

    private func outcome(_ outcome: DeliveryRecord) -> ProducerRecord {
        var text = ByteWriter()
        outcome.append(to: &text)
        return ProducerRecord(key: Self.device, value: Array(text.bytes), partition: 1)
    }

    private func commit(_ lane: String, _ offsets: [String: LaneOffset], metadata: String? = nil) throws {
        let group = DeliveryConfiguration.group(of: lane, in: configuration.groupID)
        let consumer = try Consumer(assigning: configuration.kafka, group: group)
        var commits: [TopicPartition: CommittedOffset] = [:]
        for (topic, offset) in offsets {
            commits[TopicPartition(topic: topic, partition: 1)] = CommittedOffset(
                offset: Offset(offset.offset), metadata: metadata ?? offset.metadata)
        }
        try consumer.commit(commits, timeout: .seconds(20))
    }

    private func offset(
        _ offset: Int64, _ finished: [UInt8] = [], lanes: String? = nil
    ) -> LaneOffset {
        LaneOffset(
            offset: offset, partitions: 2, lanes: lanes ?? configuration.delivery.lanesHash, isClean: false,
            finished: finished)
    }

    @Test("outcomes, waiting retries, lost and repeated records are found with their coordinates")
    func found() throws {
        // Finished by fcm: 0 to 3 and 5. Record 1 waits, 2 waited and was lost, 3 has two outcomes, 5 has one.
        try write((0..<6).map { ("notifications.dispatch", dispatch($0 == 4 ? .apns : .fcm, "m\($0)")) })
        try write(
            [1, 2].map { source in
                (
                    "notifications.dispatch.retry.10s",
                    dispatch(.fcm, "m\(source)", note: RetryNote(offset: source, attempts: 1, used: 0))
                )
            } + [("notifications.dispatch.retry.10s", dispatch(.fcm, "m9"))]
                + ([0, 3, 3, 5] as [Int64]).map {
                    ("notifications.deliveries", outcome(.sample(at: $0, partition: 1, messageID: "m\($0)")))
                } + [("notifications.deliveries", ProducerRecord(key: nil, value: Array("{}".utf8), partition: 1))])
        try commit(
            "fcm",
            ["notifications.dispatch": offset(4, [0b10]), "notifications.dispatch.retry.10s": offset(0, [0b10])])
        let report = try check()
        #expect(report.lost == 1 && report.repeated == 1 && report.idle == ["apns"])
        #expect(report.unreadableRetries == 1 && report.unreadableOutcomes == 1 && report.foreign == 0)
        #expect(
            report.defects == [
                .init(
                    .repeated, Coordinates(partition: 1, offset: 3), lane: "fcm", messageID: "m3",
                    again: Coordinates(partition: 1, offset: 2)),
                .init(.lost, Coordinates(partition: 1, offset: 2), lane: "fcm", messageID: "m2"),
            ])
        let counts = try #require(report.lanes["fcm"])
        #expect(counts.ended == 3 && counts.waiting == 1 && counts.lost == 1 && counts.unfinished == 0)
        #expect(report.lanes["apns"]?.unfinished == 1)
        #expect(try check(listing: 0).defects.isEmpty)
    }

    @Test("an offset that another tool has set counts without a bitmap; one of another map of lanes is refused")
    func otherCommits() throws {
        try write([("notifications.dispatch", dispatch(.fcm, "m0")), ("notifications.dispatch", dispatch(.fcm, "m1"))])
        try write([("notifications.deliveries", outcome(.sample(at: 0, partition: 1)))])
        try commit("fcm", ["notifications.dispatch": offset(2)], metadata: "")
        #expect(try check().defects.map(\.place.offset) == [1])
        try commit("fcm", ["notifications.dispatch": offset(2, lanes: "0123abcd")])
        let refusal = #expect(throws: ReplayRefusal.self) { try check() }
        #expect(refusal?.description.hasPrefix("lane fcm has committed under another map of lanes (0123abcd") == true)
    }

    @Test("outcomes are read from a topic, and what is none is skipped and counted")
    func outcomes() throws {
        let records = ([0, 3, 5] as [Int64]).map { DeliveryRecord.sample(at: $0, partition: 1) }
        try write(
            records.map { ("notifications.deliveries", outcome($0)) }
                + [("notifications.deliveries", ProducerRecord(key: nil, value: Array("[]".utf8), partition: 0))])
        var log = try KafkaLog(context)
        // The mock cluster does not look up times.
        let bounds = try log.bounds(of: "notifications.deliveries")
        var fractions: [Double] = []
        var found: [DeliveryRecord] = []
        let unreadable = try log.readDeliveries(bounds, of: "notifications.deliveries") { outcome, _ in
            found.append(outcome)
        } progress: {
            fractions.append($1)
        }
        #expect(found == records && unreadable == 1 && fractions.last == 1)
    }
}
