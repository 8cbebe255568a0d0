import CarillonTesting
import StageSupport
import Testing

@testable import Notifications

@Suite("Order state as a fold")
struct OrderFoldTests {
    private let morning = FoldDriver.morning
    private let minute = FoldDriver.minute
    private let hour = FoldDriver.hour
    private let day = FoldDriver.day

    @Test("members that an event carries replace, absent ones stay")
    func members() throws {
        var driver = try FoldDriver()
        driver.append(
            event(
                "o1", status: "pending", slot: "2025-07-07 14:00-16:00", at: morning, id: "a",
                orderExtra: #""parent_order_id":"P","order_type":"FOOD""#),
            event("o1", "ORDER_STATUS_CHANGED", status: "processing", at: morning + minute, id: "b", place: "p2"))
        try driver.process()
        let view = try #require(driver.views["o1"])
        #expect(view.status == "processing" && view.place == "p2")
        #expect(view.slot == [840, 960] && view.date == 20_276)
        #expect(view.visibleID == "N-o1" && view.parentID == "P" && view.orderType == .food)
        #expect(view.lastTime == morning + minute && view.identities.count == 2)
    }

    @Test("previous_status is the event's, else the state's, else unknown")
    func previousStatus() throws {
        var driver = try FoldDriver()
        driver.append(
            event("o1", "ORDER_STATUS_CHANGED", status: "pending", at: morning),
            event("o1", "ORDER_STATUS_CHANGED", status: "processing", at: morning + 1),
            event(
                "o1", "ORDER_STATUS_CHANGED", status: "picked", at: morning + 2, extra: #""previous_status":"picking""#
            ))
        try driver.process()
        #expect(driver.payloads.map { $0.statusChange?.previous } == ["unknown", "pending", "picking"])
    }

    @Test("a status that is the one before is not a transition, whoever knows it")
    func notATransition() throws {
        var driver = try FoldDriver()
        driver.append(
            event("o1", "ORDER_STATUS_CHANGED", status: "pending", at: morning),
            event("o1", "ORDER_STATUS_CHANGED", status: "pending", at: morning + 1),
            event("o1", status: "processing", at: morning + 2),
            event("o1", "ORDER_STATUS_CHANGED", status: "processing", at: morning + 3),
            event("o1", "ORDER_STATUS_CHANGED", status: "completed", at: morning + 4),
            event("o1", "ORDER_STATUS_CHANGED", status: "completed", at: morning + 5))
        try driver.process()
        #expect(driver.suppressed == [.notATransition, .notATransition, .notATransition])
        #expect(driver.payloads.count == 3)
    }

    @Test("with infer-status-changes a snapshot without a type is a status change where the status differs")
    func inferred() throws {
        func snapshot(_ status: String, at time: WallTime) -> SampleRecord {
            SampleRecord(
                key: "o1", value: #"{"id":"o1","place_id":"p1","status":"\#(status)","order_number":"N"}"#,
                at: time)
        }
        var driver = try FoldDriver(infersStatusChanges: true)
        driver.append(
            snapshot("pending", at: morning), snapshot("pending", at: morning + 1), snapshot("picked", at: morning + 2),
            SampleRecord(
                key: "k", value: #"{"name":"nobody"}"#,
                at: morning + 3))
        try driver.process()
        #expect(driver.suppressed == [.notATransition, .notATransition])
        #expect(driver.pushes == ["o1 order_status_changed"])
        #expect(driver.payloads[0].statusChange?.previous == "pending")
        #expect(driver.deadLetters == [.unknownType])
        var strict = try FoldDriver()
        strict.append(snapshot("pending", at: morning))
        try strict.process()
        #expect(strict.deadLetters == [.unknownType])
    }

    @Test("an event with an identity that the order has applied is a duplicate and changes nothing")
    func duplicates() throws {
        var driver = try FoldDriver()
        let first = event("o1", status: "pending", at: morning, id: "a")
        driver.append(first, event("o1", "ORDER_STATUS_CHANGED", status: "picked", at: morning + 1, id: "b"))
        var again = first
        again.timestamp = morning + 2
        driver.append(again, event("o2", status: "pending", at: morning + 3, id: "a"))
        try driver.process()
        #expect(driver.suppressed == [.duplicate])
        #expect(driver.views["o1"]?.status == "picked")
        #expect(driver.pushes == ["o1 order_created", "o1 order_status_changed", "o2 order_created"])
    }

    @Test("CloudEvents and outbox ids are identities; a record's coordinates are none")
    func identities() throws {
        var driver = try FoldDriver()
        var cloud = event("o1", at: morning)
        cloud.headers = [("ce_id", "1"), ("ce_source", "s"), ("ce_type", "ORDER_CREATED")]
        var outbox = event("o1", at: morning)
        outbox.headers = [("id", "1")]
        let plain = event("o1", at: morning)
        driver.append(cloud, cloud, outbox, outbox, plain, plain)
        try driver.process()
        #expect(driver.suppressed == [.duplicate, .duplicate])
        #expect(driver.payloads.count == 4)
    }

    @Test("the last eight identities are remembered, a repeated one as the newest")
    func eightIdentities() throws {
        var driver = try FoldDriver()
        for number in 0..<8 { driver.append(event("o1", at: morning + Int64(number), id: "e\(number)")) }
        driver.append(event("o1", at: morning + 8, id: "e0"), event("o1", at: morning + 9, id: "e8"))
        driver.append(event("o1", at: morning + 10, id: "e0"), event("o1", at: morning + 11, id: "e1"))
        try driver.process()
        // e0 was renewed, so e1 was the one to go.
        #expect(driver.suppressed == [.duplicate, .duplicate])
        #expect(driver.views["o1"]?.identities.count == 8)
    }

    @Test("what comes back from the dead letters is not a duplicate")
    func redriven() throws {
        var driver = try FoldDriver()
        let first = event("o1", at: morning, id: "a")
        var again = first
        again.headers = [
            ("replay-of", "notifications.dead-letters/0/0"), ("__connect.errors.topic", "orders.events"),
            ("__connect.errors.partition", "0"), ("__connect.errors.offset", "0"),
        ]
        var foreign = first
        foreign.headers = Array(again.headers.dropFirst())
        driver.append(first, again, foreign)
        try driver.process()
        #expect(driver.payloads.count == 2)
        #expect(driver.suppressed == [.duplicate])
    }

    @Test("an older event is applied in the order of the log, and counted")
    func outOfOrder() throws {
        var driver = try FoldDriver()
        driver.append(
            event("o1", status: "picked", at: morning, occurred: morning),
            event("o1", status: "pending", at: morning + 1, occurred: morning - hour))
        try driver.process()
        #expect(driver.views["o1"]?.status == "pending")
        #expect(driver.notes.outOfOrder == 1)
    }

    @Test("an order that has ended keeps its status and identities for state.terminal-retention")
    func stub() throws {
        var driver = try FoldDriver()
        let created = event("o1", status: "pending", slot: "2025-07-07 14:00-16:00", at: morning, id: "a")
        driver.append(created, event("o1", "ORDER_STATUS_CHANGED", status: "cancelled", at: morning + minute, id: "b"))
        try driver.process()
        let view = try #require(driver.views["o1"])
        #expect(view.status == "cancelled" && view.slot == nil && view.place == nil && view.timers.isEmpty)
        #expect(view.identities.count == 2)
        driver.append(event("o2", at: morning + minute + day - 1000))
        try driver.process()
        #expect(driver.views["o1"]?.status == "cancelled")
        driver.append(event("o2", at: morning + minute + day))
        try driver.process()
        #expect(driver.views["o1"] == nil)
    }

    @Test("a redelivered event does not bring an ended order back, nor does one from before its end")
    func redeliveredAfterEnd() throws {
        var driver = try FoldDriver()
        let created = event("o1", status: "pending", slot: "2025-07-07 14:00-16:00", at: morning, id: "a")
        var again = created
        again.timestamp = morning + 2 * minute
        driver.append(
            created, event("o1", "ORDER_STATUS_CHANGED", status: "failed", at: morning + minute, id: "b"), again,
            event(
                "o1", status: "processing", slot: "2025-07-07 14:00-16:00", at: morning + 3 * minute,
                occurred: morning + 1))
        try driver.process()
        #expect(driver.suppressed == [.duplicate])
        #expect(driver.views["o1"]?.status == "failed")
        #expect(driver.views["o1"]?.timers.isEmpty == true)
        // A newer one does.
        driver.append(event("o1", status: "pending", slot: "2025-07-07 14:00-16:00", at: morning + 4 * minute, id: "c"))
        try driver.process()
        #expect(driver.views["o1"]?.pendingTimers.count == 4)
    }

    @Test("every member goes a horizon after the record that said it, and an order with its last one")
    func expiry() throws {
        var driver = try FoldDriver()
        driver.append(
            event("o1", status: "pending", slot: "2025-07-27 14:00-16:00", at: morning, id: "a"),
            event("o1", "ORDER_STATUS_CHANGED", status: "processing", at: morning + day, id: "b"),
            event("o2", at: morning + 14 * day - 1000))
        try driver.process()
        #expect(driver.views["o1"]?.slot != nil)
        driver.append(event("o2", at: morning + 14 * day))
        try driver.process()
        let view = try #require(driver.views["o1"])
        #expect(view.slot == nil && view.timers.isEmpty)
        #expect(view.status == "processing" && view.place == "p1" && view.identities.count == 1)
        driver.append(event("o2", at: morning + 15 * day))
        try driver.process()
        #expect(driver.views["o1"] == nil)
    }

    @Test("an old timestamp after a new one says nothing new, and expiry never goes back")
    func oldTimestamp() throws {
        var driver = try FoldDriver()
        driver.append(event("o1", at: morning + 20 * day), event("o2", at: morning))
        try driver.process()
        #expect(driver.views["o1"] != nil && driver.views["o2"] == nil)
        #expect(driver.payloads.count == 2)
    }

    @Test("an event without an order id, and an ORDER_IDS_LISTED, have no state")
    func noState() throws {
        var driver = try FoldDriver()
        let anonymous = SampleRecord(
            key: "k", value: #"{"event_id":"a","event_type":"ORDER_CREATED","order":{"place_id":"p1"}}"#,
            at: morning)
        let list = SampleRecord(
            key: "p1",
            value: #"{"event_id":"b","event_type":"ORDER_IDS_LISTED","place_id":"p1","order_ids":["o1","o2"]}"#,
            at: morning)
        driver.append(anonymous, anonymous, list, list)
        try driver.process()
        #expect(driver.payloads.count == 6)
        #expect(driver.orderViews.isEmpty)
    }

    @Test("a dead letter leaves no trace in the state, so that it can be mended and come again")
    func deadLetter() throws {
        var driver = try FoldDriver()
        driver.append(
            event("o1", "ORDER_STATUS_CHANGED", at: morning, id: "a"), event("o1", at: morning, id: "b", place: ""))
        try driver.process()
        #expect(driver.deadLetters.count == 2)
        #expect(driver.orderViews.isEmpty)
    }

    @Test("what was not committed is taken back, byte for byte")
    func rollBack() throws {
        var driver = try FoldDriver()
        driver.append(event("o1", status: "pending", slot: "2025-07-07 14:00-16:00", at: morning, id: "a"))
        try driver.process()
        let before = driver.orderViews
        driver.append(
            event("o1", "ORDER_STATUS_CHANGED", status: "collected", at: morning + 20 * day, id: "b"),
            event("o2", at: morning + 40 * day))
        try driver.process(aborts: true)
        #expect(driver.orderViews == before)
        driver.orders.fired(partition: 0, upTo: TimerWatermark(morning + 40 * day))
        #expect(driver.orderViews != before)
        driver.orders.rollBack()
        #expect(driver.orderViews == before)
        let due = try #require(driver.orders[0]?.earliestDue)
        #expect(due <= morning + 7 * hour)
    }

    @Test("thousands of orders come and go, and memory does not grow with those that are gone")
    func memory() throws {
        var orders = OrderRules()
        orders.horizon = .seconds(86_400)
        var driver = try FoldDriver(rules: orders)
        for step in 0..<8_000 {
            driver.append(event("order-\(step)", status: "pending", at: morning + Int64(step) * minute, id: "e\(step)"))
            if step % 500 == 499 { try driver.process() }
        }
        #expect(driver.orderViews.count == 1_440)
        #expect(driver.orders.count < 4_000)
        #expect(driver.orders.usedBytes < 4_000 * 400)
    }
}
