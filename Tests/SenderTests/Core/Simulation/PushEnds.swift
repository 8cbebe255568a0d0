import JSONReader
import KafkaClient
import KafkaSimulation
import Notifications
import Pipeline

@testable import Sender

/// The outcomes that the topic of deliveries has.
struct PushEnds {
    struct End {
        let record: DeliveryRecord
        let index: Int
        let transaction: Int
    }

    private(set) var ends: [LaneSimulation.ID: [End]] = [:]
    /// The transactions whose offsets the group has: their markers may come later.
    private var transactions: Set<Int> = []
    private var read: [Int32: Int] = [:]
    private var readCommits = 0
    private(set) var problems: [String] = []

    mutating func read(_ kafka: SimulatedKafka, _ configuration: PipelineConfiguration) {
        while readCommits < kafka.commits.count {
            transactions.insert(kafka.commits[readCommits].transaction)
            readCommits += 1
        }
        for (topicPartition, log) in kafka.logs where topicPartition.topic == configuration.topics.deliveries {
            var index = read[topicPartition.partition] ?? 0
            while index < log.entries.count {
                if let value = log.entries[index].record?.value {
                    add(value, at: index, of: topicPartition, in: log.entries[index].transaction, configuration)
                }
                index += 1
            }
            read[topicPartition.partition] = index
        }
    }

    private mutating func add(
        _ value: [UInt8], at index: Int, of topicPartition: TopicPartition, in transaction: Int,
        _ configuration: PipelineConfiguration
    ) {
        var json = JSONReader()
        let found = value.withUnsafeBytes { value in
            (try? json.parse(value)).flatMap { try? DeliveryRecord($0) }
        }
        guard let found, let kind = configuration.topics.dispatchTopics.firstIndex(of: found.topic),
            found.partition == topicPartition.partition
        else {
            problems.append("\(topicPartition), \(index) is no outcome of a record of its partition")
            return
        }
        let id = LaneSimulation.ID(
            kind: PushKind.allCases[kind], partition: found.partition, source: found.offset)
        ends[id, default: []].append(End(record: found, index: index, transaction: transaction))
    }

    func committed(
        _ id: LaneSimulation.ID, _ kafka: SimulatedKafka, _ configuration: PipelineConfiguration
    ) -> [End] {
        guard let found = ends[id] else { return [] }
        let topicPartition = TopicPartition(topic: configuration.topics.deliveries, partition: id.partition)
        let log = kafka.logs[topicPartition]
        return found.filter { transactions.contains($0.transaction) || log?.entries[$0.index].isCommitted ?? false }
    }

    func isEnded(_ id: LaneSimulation.ID, _ kafka: SimulatedKafka, _ configuration: PipelineConfiguration) -> Bool {
        !committed(id, kafka, configuration).isEmpty
    }
}
