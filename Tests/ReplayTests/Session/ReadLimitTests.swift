import KafkaClient
import Pipeline
import Testing

@testable import Replay

@Suite("Replay: how much is read for one question", .timeLimit(.minutes(30)))
struct ReadLimitTests {
    private let cluster: MockCluster
    private let configuration: PipelineConfiguration

    init() throws {
        cluster = try MockCluster()
        configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": cluster.bootstrapServers], stateDirectory: "", rules: try ExtractionRules())
        var producer = try Producer(settings: configuration.kafka)
        for name in ["a", "b"] {
            try cluster.createTopic(name, partitions: 1)
            let topic = try producer.topic(name)
            for _ in 0..<5 {
                try producer.produce(ProducerRecord(key: nil, value: [UInt8](repeating: 0, count: 100)), to: topic)
            }
        }
        try producer.flush(timeout: .seconds(60))
    }

    /// How many records of both topics are read.
    private func read(records: Int, bytes: Int) throws -> Int {
        let context = ReplayContext(
            configuration: configuration, scratch: try Scratch(), now: 0, logger: { _ in },
            limit: ReadLimit(records: records, bytes: bytes))
        var log = try KafkaLog(context)
        var count = 0
        for topic in ["a", "b"] {
            try log.read(log.bounds(of: topic), of: topic) { _, indices in count += indices.count }
        }
        return count
    }

    @Test("the records and the bytes of all topics count together, and one more ends the reading")
    func bounded() throws {
        #expect(try read(records: 10, bytes: 1_000) == 10)
        #expect(throws: TooMuchToRead.self) { try read(records: 9, bytes: 1_000) }
        #expect(throws: TooMuchToRead.self) { try read(records: 10, bytes: 999) }
    }
}
