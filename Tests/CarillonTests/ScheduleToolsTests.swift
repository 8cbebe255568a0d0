import Foundation
import Testing

@testable import carillon

@Suite("Tools for the state of orders and the schedule")
struct ScheduleToolsTests {
    private let subscription = #"{"audience":"place/42","token":"a-made-up-token","platform":"fcm","app":"a"}"#
    private let events = """
        {"event_id":"1","event_type":"ORDER_CREATED","occurred_at":"2026-11-21T10:00:00Z","order":{"id":"4711","place_id":"42","status":"pending","shipping_info":{"slot":{"date":"2026-11-22","start_time":"14:00","end_time":"16:00"}}}}
        {"event_id":"2","event_type":"ORDER_STATUS_CHANGED","occurred_at":"2026-11-22T14:20:00Z","order":{"id":"4711","place_id":"42","status":"picked"}}
        {"event_id":"2","event_type":"ORDER_STATUS_CHANGED","occurred_at":"2026-11-22T14:20:00Z","order":{"id":"4711","place_id":"42","status":"picked"}}
        """

    private func render(_ arguments: String..., events: String? = nil) throws -> CommandProcess {
        let file = FileManager.default.temporaryDirectory.path + "/subscriptions-\(UUID().uuidString).jsonl"
        try Data(subscription.utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        return try CommandProcess.run(
            ["render", "--subscriptions", file] + arguments, input: events ?? self.events)
    }

    /// The types of the pushes, and the reasons for what is not sent, in their order.
    private func outline(_ output: String) -> [String] {
        output.split(separator: "\n").map { line in
            for mark in [#""dropped":""#, #""suppressed":""#, #"event_type\\\":\\\"event_"#] {
                if let found = line.range(of: mark) {
                    return String(line[found.upperBound...].prefix { $0.isLetter || $0 == "_" })
                }
            }
            return String(line.prefix(40))
        }
    }

    @Test(
        "render fires timers between the records before and after them, up to --until, and says why others are dropped")
    func until() throws {
        let without = try render()
        #expect(outline(without.output) == ["order_created", "order_status_changed"])
        #expect(without.output.contains(#"previous_status\\\":\\\"pending"#))
        let all = try render("--until", "2026-11-23T00:00:00Z", "--explain")
        #expect(
            outline(all.output) == [
                "order_created", "timeslot_started", "unpicked_orders_reminder", "order_status_changed", "duplicate",
                "picked", "picked",
            ])
        #expect(all.output.contains(#""source","schedule/0/1""#))
        #expect(try render("--until", "2026-11-23T00:00:00Z", "--explain").output == all.output)
        let early = try render("--until", "2026-11-22T14:00:00Z", "--explain")
        #expect(outline(early.output) == ["order_created", "timeslot_started", "order_status_changed", "duplicate"])
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
        #expect(outline(result.output) == ["order_created"])
    }

    @Test("orders list-event validates the event before writing it: 64 with the invalid value")
    func listEventIsChecked() throws {
        func run(_ arguments: String...) throws -> CommandProcess {
            try CommandProcess.run(["orders", "list-event", "--dry-run"] + arguments)
        }
        for (arguments, complaint) in [
            (["--place", "42"], "--ids is missing"),
            (["--place", "42", "--ids", " , "], "--ids: there is no id in it"),
            (["--place", "42", "--ids", "1", "--date", "22.11.2026"], "--date 22.11.2026 is not allowed"),
            (["--place", "42", "--ids", "1", "--start", "25:00"], "--start 25:00 is not allowed"),
            (["--place", "42", "--ids", "1", "--end", "16:00", "--start", "x"], "--start x is not allowed"),
            (["--place", " ", "--ids", "1"], "the event would be a dead letter, no_place"),
            (["--place", "42", "--ids", "@/nowhere"], "--ids @/nowhere: the file cannot be read"),
        ] {
            let result = try CommandProcess.run(["orders", "list-event", "--dry-run"] + arguments)
            #expect(result.status == 64, "\(arguments)")
            #expect(result.errors.contains(complaint), "\(result.errors)")
        }
        let noBroker = try CommandProcess.run(["orders", "list-event", "--place", "42", "--ids", "1"])
        #expect(noBroker.status == 78)
        let event = try run(
            "--place", "42", "--ids", "4711, 4712", "--ids", "4711", "--date", "2026-11-22", "--start", "14:00")
        #expect(event.status == 0)
        let rendered = try render(events: event.output)
        #expect(outline(rendered.output) == ["order_ids_listed", "order_ids_listed"])
        #expect(rendered.output.contains(#"delivery_date\\\":\\\"2026-11-22\\\",\\\"start_time\\\":\\\"14:00"#))
    }

    @Test("schedule=off has no timers to show: 78")
    func scheduleOff() throws {
        let result = try CommandProcess.run(["schedule", "-b", "127.0.0.1:1", "--set", "schedule=off"])
        #expect(result.status == 78)
        #expect(result.errors.contains("schedule=off: there are no timers"))
        #expect(try CommandProcess.run(["schedule", "-b", "127.0.0.1:1", "--limit", "-1"]).status == 64)
    }
}
