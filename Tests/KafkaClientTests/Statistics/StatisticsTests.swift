import Testing

@testable import KafkaClient

@Suite("Statistics")
struct StatisticsTests {
    @Test("librdkafka's JSON becomes values with their units")
    func decode() throws {
        let statistics = try #require(
            ClientStatistics(
                json: """
                    {"name":"rdkafka#consumer-1","client_id":"c","type":"consumer","ts":5016483227792,"time":1527060869,"replyq":2,
                    "msg_cnt":22710,"msg_size":704010,"tx":631,"tx_bytes":168584479,"rx":628,"rx_bytes":31084,"txmsgs":4300753,
                    "txmsg_bytes":133323343,"rxmsgs":17,"rxmsg_bytes":170,
                    "brokers":{"b:9092/2":{"name":"b:9092/2","nodeid":2,"state":"UP","txerrs":1,"req_timeouts":3,"connects":4,"disconnects":5,
                      "rtt":{"min":1580,"max":3389,"avg":2349,"sum":79868,"p99":3000}}},
                    "topics":{"t":{"topic":"t","partitions":{
                      "1":{"partition":1,"fetchq_cnt":10,"fetchq_size":100,"hi_offset":60,"ls_offset":55,"consumer_lag":5},
                      "0":{"partition":0,"hi_offset":-1001,"ls_offset":-1001,"consumer_lag":-1},
                      "-1":{"partition":-1}}}},
                    "cgrp":{"state":"up","rebalance_cnt":3},"new_field":{"x":1}}
                    """))
        #expect(statistics.name == "rdkafka#consumer-1")
        #expect(statistics.isConsumer)
        #expect(statistics.time == WallTime(milliseconds: 1_527_060_869_000))
        #expect(statistics.pendingOperations == 2)
        #expect(statistics.transmittedRecords == 4_300_753)
        #expect(statistics.receivedRecordBytes == 170)
        #expect(statistics.rebalances == 3)
        #expect(statistics.groupState == "up")
        #expect(statistics.transactionState == nil)
        #expect(statistics.brokers.map(\.roundTripTime) == [.microseconds(2349)])
        #expect(statistics.brokers.map(\.requestTimeouts) == [3])
        #expect(statistics.partitions.map(\.partition.partition) == [0, 1])
        #expect(statistics.partitions[0].lag == nil)
        #expect(statistics.partitions[0].highWatermark == nil)
        #expect(statistics.partitions[1].lag == 5)
        #expect(statistics.partitions[1].lastStableOffset == Offset(55))
    }

    @Test("other JSON is not taken for statistics", arguments: ["", "{}", "[1]", "{\"name\":1}"])
    func notStatistics(json: String) {
        #expect(ClientStatistics(json: json) == nil)
    }
}
