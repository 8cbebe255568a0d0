import FoundationEssentials

extension ClientStatistics {
    /// From librdkafka's JSON (its STATISTICS.md); nil if the text is something else. A missing field is 0 or absent.
    init?(json: String) {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let report = try? decoder.decode(Report.self, from: Data(json.utf8)) else { return nil }
        name = report.name
        isConsumer = report.type == "consumer"
        time = WallTime(milliseconds: (report.time ?? 0) * 1000)
        pendingOperations = report.replyq ?? 0
        queuedRecords = report.msgCnt ?? 0
        queuedBytes = report.msgSize ?? 0
        transmittedRecords = report.txmsgs ?? 0
        transmittedRecordBytes = report.txmsgBytes ?? 0
        receivedRecords = report.rxmsgs ?? 0
        receivedRecordBytes = report.rxmsgBytes ?? 0
        transmittedRequests = report.tx ?? 0
        transmittedBytes = report.txBytes ?? 0
        receivedResponses = report.rx ?? 0
        receivedBytes = report.rxBytes ?? 0
        rebalances = report.cgrp?.rebalanceCnt ?? 0
        groupState = report.cgrp?.state
        transactionState = report.eos?.txnState
        brokers = (report.brokers ?? [:]).values.map(Broker.init).sorted { $0.name < $1.name }
        partitions = (report.topics ?? [:]).flatMap { topic, report in
            // Partition -1 is librdkafka's own, for records whose partition is not known yet.
            (report.partitions ?? [:]).values.filter { $0.partition >= 0 }.map { Partition(topic, $0) }
        }.sorted { $0.partition < $1.partition }
    }
}

extension ClientStatistics.Broker {
    fileprivate init(_ report: Report.Broker) {
        name = report.name
        state = report.state ?? ""
        roundTripTime = .microseconds(report.rtt?.avg ?? 0)
        roundTripTimeP99 = .microseconds(report.rtt?.p99 ?? 0)
        requestErrors = report.txerrs ?? 0
        requestTimeouts = report.reqTimeouts ?? 0
        connects = report.connects ?? 0
        disconnects = report.disconnects ?? 0
    }
}

extension ClientStatistics.Partition {
    fileprivate init(_ topic: String, _ report: Report.Partition) {
        partition = TopicPartition(topic: topic, partition: report.partition)
        queuedRecords = report.fetchqCnt ?? 0
        queuedBytes = report.fetchqSize ?? 0
        highWatermark = report.hiOffset.flatMap { $0 < 0 ? nil : Offset($0) }
        lastStableOffset = report.lsOffset.flatMap { $0 < 0 ? nil : Offset($0) }
        lag = report.consumerLag.flatMap { $0 < 0 ? nil : $0 }
    }
}

/// librdkafka's field names, in camel case.
private struct Report: Decodable {
    struct Latency: Decodable {
        var avg: Int64?
        var p99: Int64?
    }

    struct Broker: Decodable {
        var name: String
        var state: String?
        var rtt: Latency?
        var txerrs: Int?
        var reqTimeouts: Int?
        var connects: Int?
        var disconnects: Int?
    }

    struct Partition: Decodable {
        var partition: Int32
        var fetchqCnt: Int?
        var fetchqSize: Int?
        var hiOffset: Int64?
        var lsOffset: Int64?
        var consumerLag: Int?
    }

    struct Topic: Decodable {
        var partitions: [String: Partition]?
    }

    struct Group: Decodable {
        var state: String?
        var rebalanceCnt: Int?
    }

    struct Transactions: Decodable {
        var txnState: String?
    }

    var name: String
    var type: String
    var time: Int64?
    var replyq: Int?
    var msgCnt: Int?
    var msgSize: Int?
    var tx: Int?
    var txBytes: Int?
    var rx: Int?
    var rxBytes: Int?
    var txmsgs: Int?
    var txmsgBytes: Int?
    var rxmsgs: Int?
    var rxmsgBytes: Int?
    var brokers: [String: Broker]?
    var topics: [String: Topic]?
    var cgrp: Group?
    var eos: Transactions?
}
