import Testing

@testable import Events
@testable import FanOut
@testable import Pipeline
@testable import Subscriptions

@Suite("The core without a broker: records in, records out")
struct PipelineCoreTests {
    @Test("an event becomes one record for each device of its place, and none for others")
    func fanOut() throws {
        var driver = try CoreDriver()
        try driver.subscribe("token-a", to: "p1")
        try driver.subscribe("token-b", to: "p1")
        try driver.subscribe("token-c", to: "p2")
        driver.take([orderEvent("o1")])
        _ = try driver.emitAll()
        let tokens = driver.sink.records.map {
            $0.value.contains("token-a") ? "a" : $0.value.contains("token-b") ? "b" : "?"
        }
        #expect(tokens.sorted() == ["a", "b"])
        #expect(driver.sink.records.allSatisfy { $0.headers["source"] == "orders.events/0/0" })
        #expect(driver.sink.records.allSatisfy { $0.key.count == 64 && $0.headers["platform"] == "fcm" })
        #expect(driver.core.counts.events == 1)
        #expect(driver.core.counts.notifications == 1)
        #expect(driver.core.counts.dispatches == 2)
        #expect(driver.core.counts.timeSlots(from: .slot) == 1)
    }

    @Test("a place that nobody subscribed to is a counted reason, not a dead letter")
    func nobody() throws {
        var driver = try CoreDriver()
        driver.take([orderEvent("o1")])
        _ = try driver.emitAll()
        #expect(driver.sink.records.isEmpty)
        #expect(driver.core.counts.suppressed(.noSubscriber) == 1)
        #expect(driver.sink.suppressed == [.noSubscriber])
    }

    @Test("a bad event is dead-lettered with its own key, value and headers, its coordinates and its reason")
    func deadLetter() throws {
        var driver = try CoreDriver()
        driver.take([orderEvent("o1"), .init(value: "{\"half\":", key: "k2", headers: [("trace", "t1")])])
        _ = try driver.emitAll()
        let letter = try #require(driver.sink.records.first)
        #expect(letter.isDeadLetter && letter.key == "k2" && letter.value == "{\"half\":")
        #expect(letter.headers["trace"] == "t1")
        #expect(letter.headers["x-error-code"] == "invalid_json")
        #expect(letter.headers["__connect.errors.topic"] == "orders.events")
        #expect(letter.headers["__connect.errors.partition"] == "0")
        #expect(letter.headers["__connect.errors.offset"] == "1")
        #expect(letter.headers["__connect.errors.exception.message"]?.isEmpty == false)
        #expect(driver.core.counts.deadLetters(.invalidJSON) == 1)
        #expect(driver.core.counts.events == 2)
    }

    @Test("a null value is a dead letter with a null value")
    func nullValue() throws {
        var driver = try CoreDriver()
        driver.take([.init(value: nil)])
        _ = try driver.emitAll()
        #expect(driver.sink.records.first?.headers["x-error-code"] == "null_value")
        #expect(driver.sink.records.first?.value == "null")
    }

    @Test("an event without a place is a dead letter, and not also a reason for not notifying")
    func noPlace() throws {
        var driver = try CoreDriver()
        driver.take([orderEvent("o1", place: "")])
        _ = try driver.emitAll()
        #expect(driver.core.counts.deadLetters(.noPlace) == 1)
        #expect(driver.sink.suppressed.isEmpty)
    }

    @Test("the output limit ends a transaction between events, never within one")
    func limit() throws {
        var driver = try CoreDriver()
        for device in 0..<5 { try driver.subscribe("token-\(device)", to: "p1") }
        driver.take((0..<4).map { orderEvent("o\($0)") })
        #expect(try driver.emitAll(limit: 7) == [2, 4])
        #expect(driver.sink.records.count == 20)
    }

    @Test("an event larger than the limit still goes, alone")
    func eventOverLimit() throws {
        var driver = try CoreDriver()
        for device in 0..<5 { try driver.subscribe("token-\(device)", to: "p1") }
        driver.take((0..<3).map { orderEvent("o\($0)") })
        #expect(try driver.emitAll(limit: 1) == [1, 2, 3])
    }

    @Test("a new transaction in the middle of a batch sees the subscriptions as they are then")
    func freshSnapshot() throws {
        var driver = try CoreDriver()
        try driver.subscribe("token-1", to: "p1")
        driver.take([orderEvent("o1"), orderEvent("o2")])
        try driver.core.beginTransaction()
        #expect(try driver.core.emit(driver.batch, 0..<2, limit: 1, into: &driver.sink) == 1)
        try driver.subscribe("token-2", to: "p1")
        try driver.core.beginTransaction()
        _ = try driver.core.emit(driver.batch, 1..<2, limit: 10, into: &driver.sink)
        #expect(driver.sink.records.count == 3)
        #expect(driver.core.tableOffsets == [1])
    }

    @Test("an event with more devices than fan-out.max-devices is dead-lettered before anything of it is written")
    func tooManyDevices() throws {
        var driver = try CoreDriver(maxDevices: 3)
        for device in 0..<4 { try driver.subscribe("token-\(device)", to: "p1") }
        try driver.subscribe("token-9", to: "p2")
        driver.take([orderEvent("o1"), orderEvent("o2", place: "p2")])
        _ = try driver.emitAll()
        #expect(driver.sink.records.map(\.isDeadLetter) == [true, false])
        #expect(driver.core.counts.deadLetters(.tooManyDevices) == 1)
    }

    @Test("a condemned event is dead-lettered in place of its notifications, and its neighbours go out")
    func condemned() throws {
        var driver = try CoreDriver()
        try driver.subscribe("token-1", to: "p1")
        driver.take([orderEvent("o1"), orderEvent("o2"), orderEvent("o3")])
        driver.core.condemn(record: 1, DeadLetter(.recordRefused, "refused"))
        _ = try driver.emitAll()
        #expect(driver.sink.records.map(\.isDeadLetter) == [false, true, false])
        #expect(driver.sink.records[2].headers["source"] == "orders.events/0/2")
    }

    @Test("a batch that failed in the middle is taken again and gives the same bytes")
    func deterministic() throws {
        var driver = try CoreDriver()
        for device in 0..<3 { try driver.subscribe("token-\(device)", to: "p1") }
        let events = (0..<20).map { orderEvent("o\($0)", type: $0 % 2 == 0 ? "ORDER_CREATED" : "ORDER_STATUS_CHANGED") }
        driver.take(events)
        _ = try driver.emitAll()
        let first = driver.sink.records
        driver.sink = CoreDriver.Sink(failsAfter: 31)
        driver.take(events)
        #expect(throws: CoreDriver.Failure.self) { _ = try driver.emitAll() }
        driver.sink = CoreDriver.Sink()
        driver.take(events)
        _ = try driver.emitAll(limit: 10)
        #expect(driver.sink.records == first)
        #expect(first.count == 60)
    }

    struct Places: TokenResolver {
        struct Down: Error {}
        var isDown = false

        func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) throws {
            if isDown { throw Down() }
            for index in 0..<audiences.count {
                devices.append(token: "own-\(audiences[index])", platform: .fcm, app: "a", to: index)
            }
        }
    }

    @Test("a user's resolver is asked once a batch, and has no table")
    func ownResolver() throws {
        var driver = try CoreDriver(resolver: Places())
        driver.take([orderEvent("o1"), orderEvent("o2", place: "p2")])
        _ = try driver.emitAll()
        #expect(driver.sink.records.map { $0.value.contains("own-place/p1") } == [true, false])
        #expect(driver.core.tableOffsets == nil)
    }

    @Test("what a resolver throws ends the emission, and nothing of the event is counted as sent")
    func resolverFails() throws {
        var driver = try CoreDriver(resolver: Places(isDown: true))
        driver.take([orderEvent("o1")])
        #expect(throws: Places.Down.self) { _ = try driver.emitAll() }
        #expect(driver.core.counts.dispatches == 0)
    }

    struct Everyone: AudienceRule {
        func addAudiences(of events: borrowing EventBatch, notifications: Range<Int>, to audiences: inout AudienceList)
        {
            for index in notifications {
                audiences.append("place/\(events.string(events.notifications[index].placeID))", for: index)
                audiences.append("user/everyone", for: index)
            }
        }
    }

    @Test("several audiences of one event are a union: each device once")
    func union() throws {
        var driver = try CoreDriver(rule: Everyone())
        try driver.subscribe("token-1", to: "p1")
        try driver.subscribe("token-2", to: "p1")
        let both = Subscription(audience: "user/everyone", token: "token-2", platform: .fcm, app: "a")
        try Array(both.key.utf8).withUnsafeBytes { key in
            try both.encoded().withUnsafeBytes { value in
                let record = SubscriptionRecord(partition: 0, offset: 9, key: key, value: value)
                _ = try driver.table.apply([record], nextOffsets: [10], at: EventTime(milliseconds: 0))
            }
        }
        driver.take([orderEvent("o1")])
        _ = try driver.emitAll()
        #expect(driver.sink.records.count == 2)
        #expect(Set(driver.sink.records.map(\.key)).count == 2)
    }
}
