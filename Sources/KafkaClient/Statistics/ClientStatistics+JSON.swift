import FoundationEssentials

extension ClientStatistics {
    /// From librdkafka's JSON (its STATISTICS.md); nil if the text is something else.
    init?(json: String) {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let report = try? decoder.decode(Report.self, from: Data(json.utf8)) else { return nil }
        isConnected = (report.brokers ?? [:]).values.contains { $0.state == "UP" }
        partitions = (report.topics ?? [:]).flatMap { topic, report in
            // Partition -1 is librdkafka's own, for records whose partition is not known yet.
            (report.partitions ?? [:]).values.filter { $0.partition >= 0 }.map { Partition(topic, $0) }
        }.sorted { $0.partition < $1.partition }
    }
}

extension ClientStatistics.Partition {
    fileprivate init(_ topic: String, _ report: Report.Partition) {
        partition = TopicPartition(topic: topic, partition: report.partition)
        highWatermark = report.hiOffset.flatMap { $0 < 0 ? nil : Offset($0) }
        lastStableOffset = report.lsOffset.flatMap { $0 < 0 ? nil : Offset($0) }
    }
}

/// librdkafka's field names, in camel case.
private struct Report: Decodable {
    struct Broker: Decodable {
        var state: String?
    }

    struct Partition: Decodable {
        var partition: Int32
        var hiOffset: Int64?
        var lsOffset: Int64?
    }

    struct Topic: Decodable {
        var partitions: [String: Partition]?
    }

    /// Every report has it.
    var type: String
    var brokers: [String: Broker]?
    var topics: [String: Topic]?
}
