import CarillonTesting
import StageSupport
import Testing

@testable import Notifications

@Suite("What a partition forgets when its orders exceed the limit")
struct ForgetTests {
    private let morning = FoldDriver.morning
    /// Room for three orders with ids of two bytes.
    private let three = 3 * (OrderBlock.countedSize + 2) + 100

    private func driver(maxBytes: Int) throws -> FoldDriver {
        var rules = OrderRules()
        rules.maxBytes = maxBytes
        return try FoldDriver(rules: rules)
    }

    private func created(_ order: String, _ index: Int, extra: String? = nil) -> SampleRecord {
        event(
            order, status: "pending", slot: "2025-07-07 14:00-16:00", at: morning + Int64(index), id: "e\(index)",
            orderExtra: extra)
    }

    @Test("the order that was touched longest ago goes first, with its timers, and its event is then sent again")
    func oldestFirst() throws {
        var driver = try driver(maxBytes: three)
        for index in 0..<3 { driver.append(created("o\(index)", index)) }
        try driver.process()
        #expect(driver.views.keys.sorted() == ["o0", "o1", "o2"])
        // A duplicate counts as a touch.
        driver.append(created("o0", 0), created("o3", 3))
        try driver.process()
        #expect(driver.views.keys.sorted() == ["o0", "o2", "o3"])
        #expect(driver.orders.cancelled.forgottenOrders == 1 && driver.orders.cancelled.forgotten == 4)
        #expect(driver.suppressed == [.duplicate])
        driver.append(created("o1", 1))
        try driver.process()
        #expect(driver.suppressed == [.duplicate] && driver.payloads.count == 5)
    }

    @Test("what has expired goes before all that counts, and is not counted as forgotten")
    func expiredFirst() throws {
        var driver = try driver(maxBytes: three)
        driver.append(created("o0", 0), created("o1", 1))
        driver.append(event("o2", "ORDER_STATUS_CHANGED", status: "cancelled", at: morning + 10, id: "end"))
        try driver.process()
        let nextDay = Int(FoldDriver.day) + 10
        driver.append(created("o3", nextDay))
        try driver.process()
        #expect(driver.views.keys.sorted() == ["o0", "o1", "o3"])
        #expect(driver.orders.cancelled.forgottenOrders == 0)
        driver.append(created("o4", nextDay))
        try driver.process()
        #expect(driver.views.keys.sorted() == ["o1", "o3", "o4"])
        #expect(driver.orders.cancelled.forgottenOrders == 1)
    }

    @Test("an order that has ended, and still counts, goes in its turn: after what is older, before what is newer")
    func endedInItsTurn() throws {
        var driver = try driver(maxBytes: three)
        driver.append(created("o0", 0))
        driver.append(event("o1", "ORDER_STATUS_CHANGED", status: "cancelled", at: morning + 1, id: "end"))
        for index in 2...3 { driver.append(created("o\(index)", index)) }
        try driver.process()
        #expect(driver.views.keys.sorted() == ["o1", "o2", "o3"])
        driver.append(created("o4", 4))
        try driver.process()
        #expect(driver.views.keys.sorted() == ["o2", "o3", "o4"])
        #expect(driver.orders.cancelled.forgottenOrders == 1)
    }

    @Test("an order that ended and was opened again lives as long as any other, whatever comes late")
    func openedAgain() throws {
        var driver = try driver(maxBytes: three)
        driver.append(event("o0", "ORDER_STATUS_CHANGED", status: "cancelled", at: morning, id: "end"))
        driver.append(created("o0", 60_000))
        driver.append(
            event(
                "o0", "ORDER_STATUS_CHANGED", status: "failed", at: morning + 70_000, occurred: morning - 1, id: "late")
        )
        try driver.process()
        let nextDay = Int(FoldDriver.day) + 80_000
        for order in 1...2 { driver.append(created("o\(order)", nextDay + order)) }
        try driver.process()
        #expect(driver.views["o0"]?.place != nil)
        driver.append(created("o3", nextDay + 3))
        try driver.process()
        #expect(driver.views.keys.sorted() == ["o1", "o2", "o3"] && driver.orders.cancelled.forgottenOrders == 1)
    }

    @Test("a text of more than 64 bytes is as one that was never said, and so is what it replaces")
    func longTexts() throws {
        let (fits, long) = (String(repeating: "x", count: 64), String(repeating: "x", count: 65))
        var driver = try driver(maxBytes: 1 << 20)
        driver.append(created("a", 0, extra: #""parent_order_id":"\#(fits)","order_number":"\#(fits)""#))
        driver.append(created("b", 1, extra: #""parent_order_id":"P","order_number":"N""#))
        driver.append(created("b", 2, extra: #""parent_order_id":"\#(long)","order_number":"\#(long)""#))
        driver.append(event("c", status: long, slot: "2025-07-07 14:00-16:00", at: morning + 3, place: long))
        driver.append(event("c", "ORDER_STATUS_CHANGED", status: long, at: morning + 4, place: fits))
        try driver.process()
        #expect(driver.deadLetters == [] && driver.suppressed == [])
        #expect(driver.views["a"]?.parentID == fits && driver.views["a"]?.visibleID == fits)
        #expect(driver.views["b"]?.parentID == nil && driver.views["b"]?.visibleID == nil)
        #expect(driver.views["b"]?.place == "p1" && driver.views["b"]?.pendingTimers.count == 4)
        #expect(driver.views["c"]?.status == nil && driver.views["c"]?.place == fits)
        #expect(driver.payloads.last?.statusChange?.previous == "unknown")
    }

    @Test("of an order whose id has more than 255 bytes nothing is remembered, and its events are sent")
    func longID() throws {
        var driver = try driver(maxBytes: 1 << 20)
        for count in [255, 256] {
            let id = String(repeating: "i", count: count)
            for _ in 0..<2 { driver.append(created(id, count)) }
        }
        try driver.process()
        #expect(driver.views.keys.map(\.count) == [255])
        #expect(driver.suppressed == [.duplicate] && driver.payloads.count == 3)
    }

    @Test("an order takes no more memory than it counts as, however much is said of it")
    func largest() throws {
        let (id, text) = (String(repeating: "i", count: 255), String(repeating: "x", count: 64))
        var driver = try driver(maxBytes: 1 << 30)
        for index in 0..<2_000 {
            for event in 0..<9 {
                driver.append(
                    created("\(index)\(id)".prefix(255).description, event, extra: #""parent_order_id":"\#(text)""#))
            }
            driver.append(
                event(
                    "\(index)\(id)".prefix(255).description, "ORDER_STATUS_CHANGED", status: text, at: morning + 10,
                    id: "last", place: text, orderExtra: #""order_number":"\#(text)""#))
        }
        try driver.process()
        let table = driver.orders[0]!
        let (used, counted) = (table.table.usedBytes, table.table.countedBytes)
        #expect(used <= counted && used > counted / 2, "\(used) of \(counted)")
    }

    @Test("the memory of orders of every length stays within five quarters of the limit; the newest are left")
    func memory() throws {
        let limit = 8 << 20
        var driver = try driver(maxBytes: limit)
        driver.orders.trackChanges(of: 0)
        for round in 0..<20 {
            let padding = String(repeating: "x", count: 64 - round * 3)
            for index in round * 2_000..<(round + 1) * 2_000 {
                driver.append(
                    created(
                        "o\(index)\(padding)\(padding)\(padding)", index,
                        extra: #""parent_order_id":"\#(padding)","order_number":"\#(padding)""#))
            }
            try driver.process()
            let table = driver.orders[0]!
            let (counted, reserved) = (table.table.countedBytes, table.table.reservedBytes)
            #expect(counted <= limit && reserved <= limit * 5 / 4 + (5 << 20), "round \(round): \(reserved)")
            // What the checkpoint has to write, now and then with orders in it that are forgotten later.
            let changes = try #require(table.changes).usedBytes
            #expect(changes <= limit / 16, "round \(round): \(changes)")
            if round % 7 == 6 { driver.orders.takeChanges(of: 0) { _, _ in } }
        }
        let kept = Set(driver.views.keys.map { $0.prefix { $0 != "x" } })
        let first = try #require((0..<40_000).first { kept.contains("o\($0)") })
        #expect(first > 20_000 && kept.count == 40_000 - first)
    }
}
