import CarillonTesting
import Notifications
import Pipeline
import StageSupport
import Synchronization
import TestSupport
import Testing

@Suite("The driver for a host's tests")
struct PipelineTestDriverTests {
    private let slot = "2025-07-07 14:00-16:00"

    @Test("each timer is sent at its time, in all partitions, and the clock stands where it was moved to")
    func timers() throws {
        var driver = try PipelineTestDriver(partitions: 2)
        try driver.subscribe(.to("p1", "token"))
        var other = SampleRecord.order("o2", place: "p1", status: "pending", slot: "2025-07-07 14:10-16:00")
        other.partition = 1
        try driver.process(.order("o1", place: "p1", status: "pending", slot: slot), other)
        #expect(driver.output.dispatches.count == 2 && driver.journal.count == 1)
        try driver.advanceClock(by: .seconds(7 * 3_600 - 1))
        #expect(driver.output.dispatches.count == 2 && driver.journal.count == 1)
        try driver.advanceClock(by: .seconds(16 * 60))
        let sent = driver.output.dispatches.dropFirst(2).map {
            "\($0.payload?.orderID ?? "") \($0.payload?.eventType ?? "") \($0.header("source") ?? "")"
        }
        #expect(
            sent == [
                "o1 event_timeslot_started schedule/0/1", "o2 event_timeslot_started schedule/1/1",
                "o1 event_unpicked_orders_reminder schedule/0/1",
            ])
        #expect(driver.journal.count == 4 && driver.counts.timers == 3 && driver.output.dropped.isEmpty)
        #expect(driver.clock == PipelineTestDriver.defaultStart + (7 * 3_600 + 959) * 1_000)
    }

    @Test("a timer whose time is over when its event comes is sent at the clock's, or dropped as too late by it")
    func overdue() throws {
        let start = PipelineTestDriver.defaultStart
        var driver = try PipelineTestDriver()
        try driver.subscribe(.to("p1", "token"))
        try driver.advanceClock(by: .seconds(8 * 3_600))
        // Written before the slot, and read an hour after its start: the reminders at 14:45 and before are late.
        try driver.process(
            .order("o1", place: "p1", status: "pending", slot: slot, at: start + 1))
        try driver.advanceClock(by: .zero)
        #expect(driver.output.dropped.map(\.reason) == [.tooLate, .tooLate, .tooLate])
        #expect(driver.output.dispatches.last?.payload?.eventType == "event_unpicked_orders_reminder")
    }

    /// Fails at the first call.
    private final class Flaky: TokenResolver {
        struct Down: Error {}
        private let hasFailed = Atomic<Bool>(false)

        func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) throws {
            guard hasFailed.exchange(true, ordering: .relaxed) else { throw Down() }
            for index in 0..<audiences.count {
                devices.append(token: "token", platform: .fcm, app: "com.example.shop", to: index)
            }
        }
    }

    @Test("what an aborted transaction did never was, and processed again it gives the same bytes")
    func aborted() throws {
        let records = [
            SampleRecord.order("o1", place: "p1", status: "pending", slot: slot, eventID: "a"),
            .order("o1", "ORDER_STATUS_CHANGED", place: "p1", status: "picked", eventID: "b"),
        ]
        var driver = try PipelineTestDriver(resolver: Flaky())
        #expect(throws: Flaky.Down.self) { try driver.process(records) }
        #expect(driver.output.records.isEmpty && driver.output.suppressed.isEmpty && driver.journal.isEmpty)
        #expect(driver.counts.events == 0)
        try driver.process(records)

        var calm = try PipelineTestDriver()
        try calm.subscribe(.to("p1", "token"))
        try calm.process(records)
        #expect(driver.output.records == calm.output.records && driver.output.records.count == 2)
        #expect(driver.counts.events == 2 && driver.counts.transactions == 1)
    }

    @Test("with timers of somebody else none is sent, and those of upstream are")
    func noSchedule() throws {
        var configuration = try PipelineTestDriver.configuration()
        configuration.orders.schedule = nil
        var driver = try PipelineTestDriver(configuration)
        try driver.subscribe(.to("p1", "token"))
        try driver.process(.order("o1", "TIMESLOT_STARTED", place: "p1", status: "pending", slot: slot))
        try driver.advanceClock(by: .seconds(86_400))
        #expect(driver.output.dispatches.map { $0.payload?.eventType } == ["event_timeslot_started"])
    }

    @Test("subscriptions hold for the events after them, until a tombstone")
    func subscriptions() throws {
        var driver = try PipelineTestDriver()
        try driver.process(.order("o1", place: "p1"))
        try driver.subscribe(.to("p1", "token"))
        try driver.process(.order("o2", place: "p1"))
        try driver.unsubscribe(.to("p1", "token"))
        try driver.process(.order("o3", place: "p1"))
        #expect(driver.output.dispatches.map { $0.payload?.orderID } == ["o2"])
        #expect(driver.output.suppressed.map(\.offset) == [0, 2])
    }

    @Test("a sample's texts are escaped, and its members are the event's")
    func sample() throws {
        let record = SampleRecord.order(
            "o\"1", "ORDER_STATUS_CHANGED", place: "p\n", status: "pending", slot: "14:00-16:00", eventID: "e",
            at: 5, occurred: 4,
            eventMembers: #""previous_status":"x""#, orderMembers: #""order_type":"d2d""#)
        #expect(record.key == "o\"1" && record.timestamp == 5)
        #expect(
            String(decoding: record.value ?? [], as: UTF8.self) == #"""
                {"event_id":"e","event_type":"ORDER_STATUS_CHANGED","occurred_at":4,"previous_status":"x","order":\#
                {"id":"o\"1","order_number":"N-o\"1","place_id":"p\n","status":"pending","shipping_info":{"slot":\#
                {"start_time":"14:00","end_time":"16:00"}},"order_type":"d2d"}}
                """#)
    }
}
