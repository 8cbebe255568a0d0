import CarillonTesting
import StageSupport
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("Timers of orders")
struct ScheduleTests {
    private let morning = ScheduleDriver.morning
    private let minute = ScheduleDriver.minute
    private let hour = ScheduleDriver.hour
    private let day = ScheduleDriver.day
    /// 2025-07-07T14:00Z.
    private let start = ScheduleDriver.morning + 7 * ScheduleDriver.hour
    private let slot = "2025-07-07 14:00-16:00"

    @Test("the slot's start, and reminders 15, 30 and 45 minutes later, each once")
    func fourTimers() throws {
        var driver = try ScheduleDriver()
        driver.append(event("o1", status: "pending", slot: slot, at: morning))
        try driver.process()
        driver.output = RecordingSink()
        for step in 0..<7_200 where step % 30 == 0 { try driver.tick(start + Int64(step - 600) * 1000) }
        #expect(
            driver.pushes == [
                "o1 timeslot_started", "o1 unpicked_orders_reminder", "o1 unpicked_orders_reminder",
                "o1 unpicked_orders_reminder",
            ])
        #expect(
            driver.output.records.map { $0.header("message-id")?.dropLast(10) } == [
                "msg-\(start.milliseconds)", "msg-\(start.milliseconds + 15 * minute)",
                "msg-\(start.milliseconds + 30 * minute)",
                "msg-\(start.milliseconds + 45 * minute)",
            ])
        #expect(driver.counts.timers == 4)
    }

    @Test("docs/rules.md §6: payload, message id and source of a timer")
    func payload() throws {
        let order = "742ba33c-0c02-43e7-80b0-eb795c14dc6f"
        var driver = try ScheduleDriver()
        driver.append(
            event(
                order, status: "pending", slot: slot, at: morning,
                orderExtra: #""parent_order_id":"P","order_type":"d2d""#))
        try driver.process()
        try driver.tick(start + 15 * minute)
        let record = driver.output.records[2]
        // The vector of docs/rules.md §6.
        #expect(record.header("message-id") == "msg-1751897700000-z51zax4yg")
        #expect(record.header("source") == "schedule/0/1")
        #expect(record.header("expires-at") == "\(start.milliseconds + 15 * minute + 3_600_000)")
        #expect(
            record.text.contains(
                #"{\"data\":{\"message_id\":\"msg-1751897700000-z51zax4yg\",\"order_id\":\"\#(order)\",\"parent_order_id\":\"P\","#
                    + #"\"visible_id\":\"N-\#(order)\",\"event_type\":\"event_unpicked_orders_reminder\",\"delivery_date\":\"2025-07-07\","#
                    + #"\"start_time\":\"14:00\",\"end_time\":\"16:00\",\"place_id\":\"p1\"}}"#))
        #expect(record.text.contains(#""order_type":"d2d","order_id":"\#(order)""#))
    }

    @Test(
        "docs/rules.md §5.3 row 21: the start is sent unless the order has ended, reminders only while it is unpicked")
    func statuses() throws {
        for (status, expected, drop) in [
            ("pending", 2, ""), ("processing", 2, ""), ("picking", 1, "picked"), ("picked", 1, "picked"),
            ("shipped", 1, "picked"), ("mystery", 1, "picked"), ("cancelled", 0, "ended"), ("FAILED", 0, "ended"),
            ("completed", 0, "ended"), ("Collected", 0, "ended"),
        ] {
            var driver = try ScheduleDriver()
            driver.append(
                event("o1", status: "pending", slot: slot, at: morning),
                event("o1", "ORDER_STATUS_CHANGED", status: status, at: morning + 1, extra: #""previous_status":"x""#))
            try driver.process()
            driver.output = RecordingSink()
            try driver.tick(start)
            try driver.tick(start + 15 * minute)
            #expect(driver.output.records.count == expected, "\(status)")
            if drop == "picked" { #expect(driver.counts.dropped(.picked) == 1, "\(status)") }
            if drop == "ended" { #expect(driver.counts.dropped(.ended) == 4, "\(status)") }
        }
    }

    @Test("the statuses are a setting")
    func configuredStatuses() throws {
        var orders = OrderRules()
        orders.unpickedStatuses = ["received"]
        orders.terminalStatuses = ["done"]
        var driver = try ScheduleDriver(orders: orders)
        driver.append(
            event("o1", status: "received", slot: slot, at: morning),
            event("o2", status: "pending", slot: slot, at: morning),
            event("o3", status: "cancelled", slot: slot, at: morning),
            event("o4", status: "done", slot: slot, at: morning))
        try driver.process()
        driver.output = RecordingSink()
        try driver.tick(start + 15 * minute)
        #expect(
            driver.pushes == [
                "o1 timeslot_started", "o2 timeslot_started", "o3 timeslot_started", "o1 unpicked_orders_reminder",
            ])
    }

    @Test("nothing fires before it is due, and what fired does not fire again")
    func neverEarly() throws {
        var driver = try ScheduleDriver()
        driver.append(event("o1", status: "pending", slot: slot, at: morning))
        try driver.process()
        driver.output = RecordingSink()
        #expect(driver.core.orders.nextDue(in: 0) == start)
        try driver.tick(start - 1)
        #expect(driver.output.records.isEmpty)
        try driver.tick(start)
        try driver.tick(start)
        try driver.tick(start + 1000)
        #expect(driver.pushes == ["o1 timeslot_started"])
        #expect(driver.core.orders.nextDue(in: 0) == start + 15 * minute)
    }

    @Test("after downtime one tick: of several due reminders the newest, and none later than max-lateness")
    func downtime() throws {
        var driver = try ScheduleDriver()
        driver.append(event("o1", status: "pending", slot: slot, at: morning))
        try driver.process()
        driver.output = RecordingSink()
        try driver.tick(start + 40 * minute)
        #expect(driver.pushes == ["o1 unpicked_orders_reminder"])
        #expect(
            driver.output.records[0].header("message-id")?.hasPrefix("msg-\(start.milliseconds + 30 * minute)-") == true
        )
        #expect(
            driver.output.dropped.map(\.description) == [
                "o1 \(start.milliseconds) too_late", "o1 \(start.milliseconds + 15 * minute) too_late",
            ])
        var sooner = try ScheduleDriver()
        sooner.append(event("o1", status: "pending", slot: slot, at: morning))
        try sooner.process()
        sooner.output = RecordingSink()
        try sooner.tick(start + 30 * minute)
        #expect(
            sooner.output.dropped.map(\.description) == [
                "o1 \(start.milliseconds) too_late", "o1 \(start.milliseconds + 15 * minute) superseded",
            ])
        #expect(sooner.pushes == ["o1 unpicked_orders_reminder"])
    }

    @Test("how late a timer is, is measured by the clock of the transaction")
    func lateness() throws {
        var driver = try ScheduleDriver()
        driver.append(event("o1", status: "pending", slot: slot, at: morning))
        try driver.process()
        driver.output = RecordingSink()
        try driver.process(0, tick: start, clock: start + 15 * minute + 1)
        #expect(driver.output.records.isEmpty && driver.counts.dropped(.tooLate) == 1)
        try driver.process(0, tick: start + 15 * minute, clock: start + 30 * minute)
        #expect(driver.output.records.count == 1)
    }

    @Test("a timer due at or before the record that set it, or the watermark, never fires")
    func alreadyStarted() throws {
        var driver = try ScheduleDriver()
        driver.append(event("o1", status: "pending", slot: slot, at: start + 20 * minute))
        driver.append(event("o2", status: "pending", slot: slot, at: start - minute))
        driver.append(event("o3", status: "pending", slot: slot, at: start))
        try driver.process()
        #expect(driver.counts.dropped(.alreadyStarted) == 3)
        driver.output = RecordingSink()
        try driver.tick(start + 45 * minute)
        #expect(
            driver.pushes
                == Array(repeating: "unpicked_orders_reminder", count: 3).enumerated().map { "o\($0 + 1) \($1)" }
                .flatMap { [$0] })
        // A slot before the watermark.
        driver.append(event("o4", status: "pending", slot: slot, at: start - hour))
        try driver.process()
        #expect(driver.counts.dropped(.alreadyStarted) == 7)
        try driver.tick(start + 2 * hour)
        #expect(!driver.pushes.contains("o4 timeslot_started"))
    }

    @Test("a slot that changes moves its timers; one that is said again does not")
    func moved() throws {
        var driver = try ScheduleDriver()
        driver.append(
            event("o1", status: "pending", slot: slot, at: morning),
            event("o1", status: "pending", slot: "2025-07-07 15:00-17:00", at: morning + 1),
            event("o2", status: "pending", slot: slot, at: morning),
            event("o2", status: "pending", slot: slot, at: start + minute))
        try driver.process()
        driver.output = RecordingSink()
        // The start of o2 was set long before it was due, though it was said again after that.
        try driver.tick(start + 2 * minute)
        #expect(driver.pushes == ["o2 timeslot_started"])
        try driver.tick(start + hour)
        #expect(driver.pushes.contains("o1 timeslot_started"))
        #expect(driver.pushes.count == 3)
    }

    @Test("a moved slot sends its start again, and one that is moved back never sends it twice")
    func movedAfterStart() throws {
        var driver = try ScheduleDriver()
        driver.append(event("o1", status: "pending", slot: slot, at: morning))
        try driver.process()
        driver.output = RecordingSink()
        try driver.tick(start)
        driver.append(event("o1", status: "pending", slot: "2025-07-07 18:00-19:00", at: start + minute))
        try driver.process()
        driver.append(event("o1", status: "pending", slot: slot, at: start + 2 * minute))
        try driver.process()
        driver.output = RecordingSink()
        for step in 0..<300 { try driver.tick(start + Int64(step) * minute) }
        // 14:00 is over, the reminders of 14:15 on are not.
        #expect(driver.pushes == Array(repeating: "o1 unpicked_orders_reminder", count: 3))
    }

    @Test(
        "a fallback's slot fires nothing: no slot, 00:00–23:59, an end alone",
        arguments: [
            nil, "2025-07-07 00:00-23:59", "2025-07-07 x-16:00",
        ])
    func noSlot(_ slot: String?) throws {
        var driver = try ScheduleDriver()
        driver.append(
            event("o1", status: "pending", slot: slot, at: morning),
            event("o1", "ORDER_STATUS_CHANGED", status: "processing", at: morning + 1))
        try driver.process()
        #expect(driver.counts.dropped(.noSlot) == 1)
        driver.output = RecordingSink()
        try driver.tick(morning + day)
        #expect(driver.output.records.isEmpty)
    }

    @Test("without a date the slot is that of the event's day; a delivery date beats an order date")
    func dates() throws {
        var driver = try ScheduleDriver(zones: ["p1": "Asia/Tokyo"])
        // 16:30Z on the 7th is the 8th in Tokyo.
        driver.append(event("o1", status: "pending", slot: "10:00-12:00", at: morning + 9 * hour + 30 * minute))
        driver.append(
            event(
                "o2", status: "pending", slot: "10:00-12:00", at: morning, place: "p2",
                orderExtra: #""order_date":"2025-07-09""#))
        driver.append(event("o2", slot: "2025-07-11 10:00-12:00", at: morning, place: "p2"))
        driver.append(event("o2", at: morning, place: "p2", orderExtra: #""order_date":"2025-07-10""#))
        try driver.process()
        // 10:00 in Tokyo is 01:00Z.
        #expect(driver.views["o1"]?.timers.first == morning - 7 * hour + day + hour)
        #expect(driver.views["o2"]?.timers.first == morning - 7 * hour + 4 * day + 10 * hour)
    }

    @Test("with the schedule on, what upstream says about it is not sent; with it off, nothing else is")
    func scheduledHere() throws {
        var off = OrderRules()
        off.schedule = nil
        for (orders, isOn) in [(OrderRules(), true), (off, false)] {
            var driver = try ScheduleDriver(orders: orders)
            driver.append(
                event("o1", "TIMESLOT_STARTED", status: "pending", slot: slot, at: morning),
                event("o1", "UNPICKED_ORDERS_REMINDER", at: morning + 1))
            try driver.process()
            #expect(driver.output.suppressed.map(\.reason) == (isOn ? [.scheduledHere, .scheduledHere] : []))
            #expect(driver.output.records.count == (isOn ? 0 : 2))
            driver.output = RecordingSink()
            try driver.tick(start)
            #expect(driver.output.records.count == (isOn ? 1 : 0))
        }
    }

    @Test("the spread is each place's own, up to the setting, and changes no message id")
    func spread() throws {
        var orders = OrderRules()
        orders.schedule?.spread = .seconds(120)
        let places = (0..<40).map { "place-\($0)" }
        var driver = try ScheduleDriver(orders: orders, places: places)
        for place in places {
            driver.append(event("o-\(place)", status: "pending", slot: slot, at: morning, place: place))
        }
        try driver.process()
        let due = driver.orderViews.map { $0.timers[0] - start }
        #expect(due.allSatisfy { (0...120_000).contains($0) && $0 % 1000 == 0 })
        #expect(Set(due).count > 20)
        driver.output = RecordingSink()
        for step in 0...120 { try driver.tick(start + Int64(step) * 1000) }
        #expect(driver.output.records.count == 40)
        #expect(
            driver.output.records.allSatisfy {
                $0.header("message-id")?.hasPrefix("msg-\(start.milliseconds)-") == true
            })
    }

    @Test("a timer without a subscriber is counted, and not as an event")
    func nobody() throws {
        var driver = try ScheduleDriver(places: [])
        driver.append(event("o1", status: "pending", slot: slot, at: morning))
        try driver.process()
        try driver.tick(start)
        #expect(driver.counts.dropped(.noSubscriber) == 1)
        #expect(driver.counts.events == 1 && driver.counts.suppressed(.noSubscriber) == 1)
    }

    @Test("a backlog with picked orders across the slot's start sends no reminder")
    func backlog() throws {
        var driver = try ScheduleDriver()
        for number in 0..<50 { driver.append(event("o\(number)", status: "pending", slot: slot, at: morning)) }
        try driver.process()
        for number in 0..<50 {
            driver.append(
                event("o\(number)", "ORDER_STATUS_CHANGED", status: "picked", at: start - 5 * minute))
        }
        driver.output = RecordingSink()
        // The tick at 14:16 comes with the transaction that has read the backlog.
        try driver.process(20)
        try driver.process(tick: start + 16 * minute)
        #expect(driver.pushes.allSatisfy { $0.hasSuffix("order_status_changed") })
        #expect(driver.counts.dropped(.picked) == 50 && driver.counts.dropped(.tooLate) == 50)
    }

    @Test(
        "a clock that jumps back fires nothing twice, one that jumps ahead fires what is due by it",
        arguments: [
            1, 24,
        ])
    func clockJumps(_ hours: Int64) throws {
        var driver = try ScheduleDriver()
        driver.append(event("o1", status: "pending", slot: slot, at: morning))
        try driver.process()
        driver.output = RecordingSink()
        try driver.tick(start)
        try driver.tick(start - hours * hour)
        #expect(driver.committed.watermark == TimerWatermark(start))
        try driver.tick(start + 1000)
        #expect(driver.pushes == ["o1 timeslot_started"])
        try driver.tick(start + hours * hour)
        #expect(driver.output.records.count == (hours == 1 ? 2 : 1))
    }
}
