import Testing

@testable import KafkaClient

@Suite("Statistics")
struct StatisticsTests {
    @Test("librdkafka's JSON becomes values, and what it does not know is absent")
    func decode() throws {
        let statistics = try #require(
            ClientStatistics(
                json: """
                    {"name":"rdkafka#consumer-1","type":"consumer","ts":5016483227792,"new_field":{"x":1},
                    "brokers":{"a:9092/1":{"state":"INIT"},"b:9092/2":{"name":"b:9092/2","nodeid":2,"state":"UP"}},
                    "topics":{"t":{"topic":"t","partitions":{
                      "1":{"partition":1,"hi_offset":60,"ls_offset":55},
                      "0":{"partition":0,"hi_offset":-1001,"ls_offset":-1001},
                      "-1":{"partition":-1}}}}}
                    """))
        #expect(statistics.isConnected)
        #expect(statistics.partitions.map(\.partition.partition) == [0, 1])
        #expect(statistics.partitions[0].highWatermark == nil)
        #expect(statistics.partitions[1].lastStableOffset == Offset(55))
    }

    @Test("other JSON is not taken for statistics", arguments: ["", "{}", "[1]", "{\"type\":1}"])
    func notStatistics(json: String) {
        #expect(ClientStatistics(json: json) == nil)
    }
}
