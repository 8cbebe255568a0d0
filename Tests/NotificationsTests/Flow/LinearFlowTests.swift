import CarillonTesting
import StageSupport
import TestSupport
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("Time grows as the input does, from the records to the pushes")
struct LinearFlowTests {
    /// A day of an adversarial shape.
    struct Shape: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var size: Int
        /// The tokens of the devices at the place `p`.
        var tokens: @Sendable (_ size: Int) -> [String] = { _ in ["token"] }
        var records: @Sendable (_ size: Int) -> [SampleRecord]
        /// How long the timers run then.
        var hours = 0
    }

    /// An order at the place `p` whose slot starts an hour after the driver.
    private static func order(_ id: String, _ more: String = "", type: String = "ORDER_CREATED") -> SampleRecord {
        SampleRecord(
            key: id,
            value: """
                {"event_type":"\(type)","order":{"id":"\(id)","place_id":"p"\(more),\
                "shipping_info":{"slot":{"date":"2025-07-07","start_time":"08:00","end_time":"18:00"}}}}
                """)
    }

    static let shapes: [Shape] = [
        Shape(testDescription: "many events of one order", size: 200) { size in
            (0..<size).map { order("o", #","status":"s\#($0)""#, type: "ORDER_STATUS_CHANGED") }
        },
        Shape(testDescription: "many orders", size: 200) { size in (0..<size).map { order("o\($0)") } },
        Shape(
            testDescription: "many timers of one time", size: 100,
            records: { size in (0..<size).map { order("o\($0)", #","status":"pending""#) } }, hours: 3),
        Shape(
            testDescription: "an order that moves its timers again and again", size: 200,
            records: { size in
                (0..<size).map { number in
                    SampleRecord(
                        key: "o",
                        value: """
                            {"event_type":"ORDER_CREATED","order":{"id":"o","place_id":"p","status":"pending",\
                            "shipping_info":{"slot":{"date":"2025-07-07","start_time":"08:\(10 + number % 50)"}}}}
                            """)
                }
            }, hours: 4),
        Shape(testDescription: "orders with long texts", size: 50) { size in
            let text = String(repeating: "é", count: 400)
            return (0..<size).map { order("o\($0)", #","order_number":"\#(text)","status":"\#(text)""#) }
        },
        Shape(
            testDescription: "an event for many devices, whose tokens are escaped", size: 200,
            tokens: { size in (0..<size).map { #""\"\\"# + String($0) } },
            records: { _ in [order("o")] }),
        Shape(testDescription: "a list of many orders at one place", size: 200) { size in
            let ids = (0..<size).map { #""\#($0)""# }.joined(separator: ",")
            return [
                SampleRecord(
                    key: "l", value: #"{"event_type":"ORDER_IDS_LISTED","place_id":"p","order_ids":[\#(ids)]}"#)
            ]
        },
    ]

    @Test("twice the size takes at most 2.3 times the time, whatever the shape", arguments: shapes)
    func growth(_ shape: Shape) throws {
        func run(_ size: Int) throws {
            var driver = try PipelineTestDriver()
            try driver.table.apply(shape.tokens(size).map { TableRecord(.to("p", $0)) })
            try driver.process(shape.records(size))
            try driver.advanceClock(by: .seconds(3_600 * shape.hours))
            #expect(driver.output.dispatches.count >= (shape.hours == 0 ? size : 4))
        }
        let growth = try Growth({ try run(shape.size) }, twice: { try run(2 * shape.size) })
        #expect(growth.isLinear, "\(growth)")
    }
}
