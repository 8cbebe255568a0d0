import CarillonTesting
import Pipeline
import Testing

@testable import embedded_service

@Suite("The service's audiences and devices, with no broker")
struct ServiceTests {
    private let devices = DeviceDirectory()

    init() {
        devices.register(token: "counter", app: "com.example.shop", for: "place/42")
        devices.register(token: "manager", app: "com.example.desk", for: "place/42")
        devices.register(token: "manager", app: "com.example.desk", for: "channel/new-orders")
        devices.register(token: "head-office", app: "com.example.desk", for: "channel/new-orders")
    }

    @Test("a new order reaches its place and whoever follows new orders, each device once; a change only the place")
    func audiences() throws {
        var driver = try PipelineTestDriver(resolver: devices, audienceRule: PlaceAndNewOrders())
        try driver.process(.order("4711", place: "42", status: "pending"))
        #expect(driver.output.dispatches.count == 3)
        #expect(driver.output.dispatches.allSatisfy { $0.payload?.orderID == "4711" })

        try driver.process(.order("4711", "ORDER_STATUS_CHANGED", place: "42", status: "picking"))
        let change = driver.output.dispatches.dropFirst(3)
        #expect(change.count == 2 && !change.contains { $0.text.contains("head-office") })
        #expect(change.first?.payload?.statusChange?.new == "picking")
    }

    @Test("the place is told when an order's time slot starts, and why a later reminder is not sent")
    func timers() throws {
        var driver = try PipelineTestDriver(resolver: devices, audienceRule: PlaceAndNewOrders())
        try driver.process(.order("4711", place: "42", status: "pending", slot: "2025-07-07 14:00-16:00"))
        // The driver's clock starts at 07:00.
        try driver.advanceClock(by: .seconds(7 * 3_600))
        let types = driver.output.dispatches.compactMap { $0.payload?.eventType }
        #expect(types.filter { $0 == "event_timeslot_started" }.count == 2)

        try driver.process(.order("4711", "ORDER_STATUS_CHANGED", place: "42", status: "picking"))
        try driver.advanceClock(by: .seconds(15 * 60))
        #expect(driver.output.dropped.map(\.reason) == [.picked])
    }

    @Test("what cannot be read is a dead letter with its reason")
    func deadLetters() throws {
        var driver = try PipelineTestDriver(resolver: devices)
        try driver.process(SampleRecord(key: "4711", value: "{"))
        #expect(driver.output.deadLetters.map { $0.header("x-error-code") } == ["invalid_json"])
    }
}
