import Testing

@Suite("carillon render")
struct RenderCommandTests {
    private let events = """
        {"event_id":"1","event_type":"ORDER_CREATED","occurred_at":"2026-11-21T10:00:00Z","order":{"id":"4711","place_id":"42","status":"pending","shipping_info":{"slot":{"date":"2026-11-22","start_time":"14:00","end_time":"16:00"}}}}
        {"event_id":"2","event_type":"ORDER_STATUS_CHANGED","occurred_at":"2026-11-22T14:20:00Z","order":{"id":"4711","place_id":"42","status":"picked"}}
        {"event_id":"2","event_type":"ORDER_STATUS_CHANGED","occurred_at":"2026-11-22T14:20:00Z","order":{"id":"4711","place_id":"42","status":"picked"}}
        """

    private func render(_ arguments: String..., events: String? = nil) throws -> CommandProcess {
        try .render(arguments, events: events ?? self.events)
    }

    @Test(
        "render fires timers between the records before and after them, up to --until, and says why others are dropped")
    func until() throws {
        let without = try render()
        #expect(without.outline == ["order_created", "order_status_changed"])
        #expect(without.output.contains(#"previous_status\\\":\\\"pending"#))
        let all = try render("--until", "2026-11-23T00:00:00Z", "--explain")
        #expect(
            all.outline == [
                "order_created", "timeslot_started", "unpicked_orders_reminder", "order_status_changed", "duplicate",
                "picked", "picked",
            ])
        #expect(all.output.contains(#""source","schedule/0/1""#))
        #expect(try render("--until", "2026-11-23T00:00:00Z", "--explain").output == all.output)
        let early = try render("--until", "2026-11-22T14:00:00Z", "--explain")
        #expect(early.outline == ["order_created", "timeslot_started", "order_status_changed", "duplicate"])
    }

    @Test("--until requires a time, and schedule=on: 64")
    func untilIsRefused() throws {
        let wrong = try render("--until", "tomorrow")
        #expect(wrong.status == 64)
        #expect(wrong.errors.contains("--until tomorrow is not allowed; it must be a time such as"))
        let off = try render("--until", "2026-11-23T00:00:00Z", "--set", "schedule=off")
        #expect(off.status == 64)
        #expect(off.errors.contains("--until requires schedule=on"))
    }

    @Test(
        "a record of a partition that no topic has is rendered, without a past",
        arguments: ["-1", "2147483647", "99999"])
    func oddPartition(_ partition: String) throws {
        let value =
            #"{\"event_id\":\"1\",\"event_type\":\"ORDER_CREATED\",\"order\":{\"id\":\"1\",\"place_id\":\"42\"}}"#
        let line = #"{"topic":"orders.events","partition":\#(partition),"offset":0,"ts":1,"payload":"\#(value)"}"#
        let result = try render("--until", "2026-11-23T00:00:00Z", events: line)
        #expect(result.status == 0)
        #expect(result.outline == ["order_created"])
    }

    @Test(
        "no number of a line ends it: partition, offset and time at all their edges, of events, requests and broadcasts"
    )
    func numbers() throws {
        let numbers = [
            "0", "-1", "99999", "2147483647", "2147483648", "-2147483649", "9007199254740993", "9223372036854775806",
            "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e300", "1.5", "null", #""7""#,
        ]
        let values = [
            ("orders.events", String(events.split(separator: "\n")[0])),
            ("r", #"{"request_id":"1","audience":"place/42","app":{"title":"t","body":"b","data":{"type":"T"}}}"#),
            ("b", #"{"actiontype":"display","notificationtype":"general","notificationid":"1","expiry":"1millis"}"#),
        ]
        var lines: [String] = []
        for (topic, value) in values {
            let payload = value.replacing("\"", with: "\\\"")
            for (index, partition) in numbers.enumerated() {
                for (other, offset) in numbers.enumerated() {
                    let time = numbers[(index * 7 + other) % numbers.count]
                    lines.append(
                        #"{"topic":"\#(topic)","partition":\#(partition),"offset":\#(offset),"ts":\#(time),"key":"1","payload":"\#(payload)"}"#
                    )
                }
            }
        }
        let topics = ["--set", "topic.requests=r", "--set", "topic.broadcasts=b", "--explain"]
        for until in [[], ["--until", "2026-11-23T00:00:00Z"]] {
            let result = try CommandProcess.render(topics + until, events: lines.joined(separator: "\n"))
            #expect(result.status == 0, "\(result.errors.suffix(500))")
            #expect(result.output.split(separator: "\n").count >= lines.count, "each line has an answer")
            #expect(result.output.contains("/9223372036854775807"))
        }
    }
}
