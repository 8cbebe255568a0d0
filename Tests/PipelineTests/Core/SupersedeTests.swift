import StageSupport
import TestSupport
import Testing

@testable import FanOut
@testable import OrderState
@testable import Pipeline

@Suite("supersede: a batch is a transaction, and fits into it")
struct SupersedeTests {
    private let morning = ScheduleDriver.morning

    private func driver(_ statuses: [(order: String, status: String)]) throws -> ScheduleDriver {
        var orders = OrderRules()
        orders.superseding = [.orderStatusChanged]
        var driver = try ScheduleDriver(orders: orders)
        for (index, each) in statuses.enumerated() {
            driver.append(
                event(
                    each.order, "ORDER_STATUS_CHANGED", status: each.status, at: morning + Int64(index),
                    occurred: morning))
        }
        return driver
    }

    private let changes = [
        ("o1", "pending"), ("o2", "pending"), ("o1", "processing"), ("o2", "processing"), ("o1", "picked"),
        ("o2", "picked"),
    ].map { (order: $0.0, status: $0.1) }

    @Test("what fits is one transaction, and of each order its newest push goes")
    func fits() throws {
        var driver = try driver(changes)
        #expect(try driver.processWhole(limit: 6) == [6])
        #expect(driver.pushes == ["o1 order_status_changed", "o2 order_status_changed"])
        #expect(driver.counts.suppressed(.superseded) == 4)
    }

    @Test(
        "what does not fit is cut before the event that goes over the bound, and judged by what is left",
        arguments: [
            (5, [5, 1]), (4, [4, 2]), (3, [3, 3]), (2, [2, 2, 2]), (1, [1, 1, 1, 1, 1, 1]), (0, [1, 1, 1, 1, 1, 1]),
        ])
    func cut(limit: Int, sizes: [Int]) throws {
        var driver = try driver(changes)
        #expect(try driver.processWhole(limit: limit) == sizes)
        var expected = 0
        var start = 0
        for size in sizes {
            expected += Set(changes[start..<start + size].map(\.order)).count
            start += size
        }
        #expect(driver.output.records.count == expected)
        #expect(driver.counts.events == 6 && driver.counts.suppressed(.superseded) == 6 - expected)
    }

    @Test("what was cut off is as if it had not been extracted: state, duplicates and counts are those of one by one")
    func rolledBack() throws {
        var cut = try driver(changes + [("o1", "cancelled")] + changes)
        var single = try driver(changes + [("o1", "cancelled")] + changes)
        for name in ["x", "x", "y"] {
            let again = event(name, "ORDER_STATUS_CHANGED", status: "pending", at: morning + 100, id: "id-\(name)")
            cut.append(again)
            single.append(again)
        }
        _ = try cut.processWhole(limit: 3)
        for _ in 0..<single.log.count { try single.process(1) }
        #expect(cut.orderViews == single.orderViews)
        #expect(cut.counts.suppressed(.duplicate) == 1 && single.counts.suppressed(.duplicate) == 1)
        #expect(cut.counts.keyMismatches == single.counts.keyMismatches)
    }

    @Test("a status push that a newer one of the same order in the batch overtakes is superseded")
    func inDriver() throws {
        var orders = OrderRules()
        orders.superseding = [.orderStatusChanged]
        var driver = try ScheduleDriver(orders: orders)
        driver.append(
            event("o1", "ORDER_STATUS_CHANGED", status: "pending", at: morning),
            event("o2", "ORDER_STATUS_CHANGED", status: "pending", at: morning),
            event("o1", "ORDER_STATUS_CHANGED", status: "processing", at: morning + 1),
            event("o1", "ORDER_STATUS_CHANGED", status: "processing", at: morning + 2),
            event("o1", "ORDER_CREATED", at: morning + 3))
        try driver.process()
        #expect(driver.output.suppressed.map(\.reason) == [.superseded, .notATransition])
        #expect(driver.pushes == ["o2 order_status_changed", "o1 order_status_changed", "o1 order_created"])
        #expect(driver.output.records[1].text.contains(#"previous_status\":\"pending"#))
    }
}
