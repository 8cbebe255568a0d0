import CarillonTesting
import StageSupport
import Testing

@testable import Notifications

@Suite("What carillon schedule shows")
struct ScheduleReaderTests {
    private let morning = FoldDriver.morning
    private let minute = FoldDriver.minute
    /// 2025-07-07T14:00Z.
    private let start = FoldDriver.morning + 7 * FoldDriver.hour
    private let slot = "2025-07-07 14:00-16:00"

    /// What is shown of these records, `minutes after the slot's start: type number state reason`.
    private func told(
        _ events: [SampleRecord], watermark: WallTime, order: String? = nil, place: String? = nil,
        rules: OrderRules = OrderRules()
    ) throws -> [String] {
        let memory = Memory()
        var reader = ScheduleReader(
            rules: try ExtractionRules(), orders: rules, topic: "orders.events",
            filter: .init(order: order, place: place))
        reader.begin(0, watermark: TimerWatermark(watermark), now: max(watermark, start + 30 * 86_400_000))
        for (offset, event) in events.enumerated() {
            memory.append(event, partition: 0, offset: Int64(offset), to: &reader.batch)
        }
        reader.foldBatch()
        return reader.finish().map { timer in
            "\((timer.due - start) / minute): \(timer.orderID) \(timer.kind.rawValue) \(timer.state)"
                + (timer.reason.map { " \($0)" } ?? "")
        }
    }

    @Test("pending timers in the order of time, with those that would be dropped as of now")
    func pending() throws {
        let events = [
            event("o1", status: "pending", slot: slot, at: morning),
            event("o2", status: "picked", slot: slot, at: morning + 1),
        ]
        #expect(
            try told(events, watermark: morning) == [
                "0: o1 0 pending", "0: o2 0 pending", "15: o1 1 pending", "15: o2 1 pending picked",
                "30: o1 2 pending", "30: o2 2 pending picked", "45: o1 3 pending", "45: o2 3 pending picked",
            ])
        // The past is shown of one order or place only: it is unbounded.
        #expect(try told(events, watermark: start + 31 * minute) == ["45: o1 3 pending", "45: o2 3 pending picked"])
    }

    @Test("a timer of the past is judged by what the log held when it was due, not by what came later")
    func past() throws {
        let events = [
            event("o1", status: "pending", slot: slot, at: morning),
            event("o1", "ORDER_STATUS_CHANGED", status: "picked", at: start + 20 * minute),
            event("o2", status: "pending", slot: slot, at: start + 21 * minute),
        ]
        #expect(
            try told(events, watermark: start + 40 * minute, order: "o1") == [
                "0: o1 0 gone", "15: o1 1 gone", "30: o1 2 dropped picked", "45: o1 3 pending picked",
            ])
        #expect(
            try told(events, watermark: start + 40 * minute, order: "o2") == [
                "0: o2 0 dropped already_started", "15: o2 1 dropped already_started", "30: o2 2 gone",
                "45: o2 3 pending",
            ])
    }

    @Test("an order's timers are forgotten with it, beyond the limit of the state")
    func forgotten() throws {
        let events = ["o1", "o2"].map { event($0, status: "pending", slot: slot, at: morning) }
        var rules = OrderRules()
        rules.maxBytes = OrderBlock.countedSize + 2
        #expect(
            try told(events, watermark: morning, order: "o1", rules: rules)
                == (0...3).map { "\($0 * 15): o1 \($0) dropped forgotten" })
        #expect(
            try told(events, watermark: morning, order: "o2", rules: rules)
                == (0...3).map { "\($0 * 15): o2 \($0) pending" })
    }

    @Test("an order's timers that an event has cancelled are shown with the reason: moved, ended")
    func takenAway() throws {
        var events = [
            event("o1", status: "pending", slot: slot, at: morning),
            event("o1", status: "pending", slot: "2025-07-07 14:20-16:00", at: morning + minute),
        ]
        let moved = (0...3).map { "\($0 * 15): o1 \($0) dropped moved" }
        let pending = (0...3).map { "\($0 * 15 + 20): o1 \($0) pending" }
        func sorted(_ lines: [String]) -> [String] {
            lines.sorted { Int($0.prefix { $0 != ":" })! < Int($1.prefix { $0 != ":" })! }
        }
        #expect(try told(events, watermark: morning, order: "o1") == sorted(moved + pending))
        events.append(event("o1", "ORDER_STATUS_CHANGED", status: "cancelled", at: start + 21 * minute))
        let ended = (1...3).map { "\($0 * 15 + 20): o1 \($0) dropped ended" }
        #expect(
            try told(events, watermark: start + 22 * minute, order: "o1") == sorted(moved + ["20: o1 0 gone"] + ended))
    }

    @Test("the timers of a place are those of its orders, and a partition that was not begun is passed over")
    func place() throws {
        let events = [
            event("o1", status: "pending", slot: slot, at: morning, place: "p1"),
            event("o2", status: "pending", slot: slot, at: morning, place: "p2"),
        ]
        #expect(
            try told(events, watermark: start, place: "p2") == [
                "0: o2 0 gone", "15: o2 1 pending", "30: o2 2 pending", "45: o2 3 pending",
            ])
        #expect(try told(events, watermark: start, place: "p3").isEmpty)
    }
}
