import FoundationEssentials

extension ClientStatistics {
    /// From librdkafka's JSON (its STATISTICS.md); nil when it is none. A missing field is 0 or absent.
    init?(json: String) {
        guard let report = try? JSONDecoder().decode(Report.self, from: Data(json.utf8)) else { return nil }
        name = report.name
        isConsumer = report.type == "consumer"
        time = Timestamp(milliseconds: (report.time ?? 0) * 1000)
        pendingOperations = report.replyq ?? 0
        queuedRecords = report.msg_cnt ?? 0
        queuedBytes = report.msg_size ?? 0
        transmittedRecords = report.txmsgs ?? 0
        transmittedRecordBytes = report.txmsg_bytes ?? 0
        receivedRecords = report.rxmsgs ?? 0
        receivedRecordBytes = report.rxmsg_bytes ?? 0
        transmittedRequests = report.tx ?? 0
        transmittedBytes = report.tx_bytes ?? 0
        receivedResponses = report.rx ?? 0
        receivedBytes = report.rx_bytes ?? 0
        rebalances = report.cgrp?.rebalance_cnt ?? 0
        groupState = report.cgrp?.state
        transactionState = report.eos?.txn_state
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
        requestTimeouts = report.req_timeouts ?? 0
        connects = report.connects ?? 0
        disconnects = report.disconnects ?? 0
    }
}

extension ClientStatistics.Partition {
    fileprivate init(_ topic: String, _ report: Report.Partition) {
        partition = TopicPartition(topic: topic, partition: report.partition)
        queuedRecords = report.fetchq_cnt ?? 0
        queuedBytes = report.fetchq_size ?? 0
        highWatermark = report.hi_offset.flatMap { $0 < 0 ? nil : Offset($0) }
        lastStableOffset = report.ls_offset.flatMap { $0 < 0 ? nil : Offset($0) }
        lag = report.consumer_lag.flatMap { $0 < 0 ? nil : $0 }
    }
}

/// librdkafka's field names.
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
        var req_timeouts: Int?
        var connects: Int?
        var disconnects: Int?
    }

    struct Partition: Decodable {
        var partition: Int32
        var fetchq_cnt: Int?
        var fetchq_size: Int?
        var hi_offset: Int64?
        var ls_offset: Int64?
        var consumer_lag: Int?
    }

    struct Topic: Decodable {
        var partitions: [String: Partition]?
    }

    struct Group: Decodable {
        var state: String?
        var rebalance_cnt: Int?
    }

    struct Transactions: Decodable {
        var txn_state: String?
    }

    var name: String
    var type: String
    var time: Int64?
    var replyq: Int?
    var msg_cnt: Int?
    var msg_size: Int?
    var tx: Int?
    var tx_bytes: Int?
    var rx: Int?
    var rx_bytes: Int?
    var txmsgs: Int?
    var txmsg_bytes: Int?
    var rxmsgs: Int?
    var rxmsg_bytes: Int?
    var brokers: [String: Broker]?
    var topics: [String: Topic]?
    var cgrp: Group?
    var eos: Transactions?
}
