import CarillonTesting
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("The core without a broker: records in, records out")
struct FlowTests {
    @Test("an event becomes one record for each device of its place, and none for others")
    func fanOut() throws {
        var driver = try PipelineTestDriver()
        try driver.subscribe("token-a", to: "p1")
        try driver.subscribe("token-b", to: "p1")
        try driver.subscribe("token-c", to: "p2")
        try driver.process(.order("o1", place: "p1", slot: "2025-07-07 14:00-16:00"))
        let tokens = driver.output.records.map {
            $0.text.contains("token-a") ? "a" : $0.text.contains("token-b") ? "b" : "?"
        }
        #expect(tokens.sorted() == ["a", "b"])
        #expect(driver.output.records.allSatisfy { $0.header("source") == "orders.events/0/0" })
        #expect(driver.output.records.allSatisfy { $0.key?.count == 64 && $0.header("platform") == "fcm" })
        #expect(driver.output.records.allSatisfy { $0.destination == .dispatch && $0.payload?.orderID == "o1" })
        #expect(driver.counts.events == 1)
        #expect(driver.counts.notifications == 1)
        #expect(driver.counts.dispatches == 2)
        #expect(driver.counts.timeSlots(from: .slot) == 1)
    }

    @Test("a place that nobody subscribed to is a counted reason, not a dead letter")
    func nobody() throws {
        var driver = try PipelineTestDriver()
        try driver.process(.order("o1", place: "p1"))
        #expect(driver.output.records.isEmpty)
        #expect(driver.counts.suppressed(.noSubscriber) == 1)
        #expect(driver.output.suppressed.map(\.reason) == [.noSubscriber])
    }

    @Test("a bad event is dead-lettered with its own key, value and headers, its coordinates and its reason")
    func deadLetter() throws {
        var driver = try PipelineTestDriver()
        try driver.process(
            .order("o1", place: "p1"), SampleRecord(key: "k2", value: "{\"half\":", headers: [("trace", "t1")]))
        let letter = try #require(driver.output.deadLetters.first)
        #expect(letter.key == Array("k2".utf8) && letter.text == "{\"half\":")
        #expect(letter.header("trace") == "t1")
        #expect(letter.header("x-error-code") == "invalid_json")
        #expect(letter.header("__connect.errors.topic") == "orders.events")
        #expect(letter.header("__connect.errors.partition") == "0")
        #expect(letter.header("__connect.errors.offset") == "1")
        #expect(letter.header("__connect.errors.exception.message")?.isEmpty == false)
        #expect(driver.counts.deadLetters(.invalidJSON) == 1)
        #expect(driver.counts.events == 2)
    }

    @Test("a null value is a dead letter with a null value")
    func nullValue() throws {
        var driver = try PipelineTestDriver()
        try driver.process(SampleRecord(key: "k", value: nil))
        #expect(driver.output.records.first?.header("x-error-code") == "null_value")
        #expect(driver.output.records.count == 1 && driver.output.records.first?.value == nil)
    }

    @Test("an event without a place is a dead letter, and not also a reason for not notifying")
    func noPlace() throws {
        var driver = try PipelineTestDriver()
        try driver.process(.order("o1", place: ""))
        #expect(driver.counts.deadLetters(.noPlace) == 1)
        #expect(driver.output.suppressed.isEmpty)
    }

    @Test("the output limit ends a transaction between events, never within one")
    func limit() throws {
        var driver = try PipelineTestDriver()
        for device in 0..<5 { try driver.subscribe("token-\(device)", to: "p1") }
        driver.extract((0..<4).map { .order("o\($0)", place: "p1") })
        var sink = RecordingSink()
        #expect(try driver.emitAll(limit: 7, into: &sink) == [2, 4])
        #expect(sink.records.count == 20)
    }

    @Test("an event larger than the limit still goes, alone")
    func eventOverLimit() throws {
        var driver = try PipelineTestDriver()
        for device in 0..<5 { try driver.subscribe("token-\(device)", to: "p1") }
        driver.extract((0..<3).map { .order("o\($0)", place: "p1") })
        var sink = RecordingSink()
        #expect(try driver.emitAll(limit: 1, into: &sink) == [1, 2, 3])
    }

    @Test("a new transaction in the middle of a batch sees the subscriptions as they are then")
    func freshSnapshot() throws {
        var driver = try PipelineTestDriver()
        try driver.subscribe("token-1", to: "p1")
        driver.extract([.order("o1", place: "p1"), .order("o2", place: "p1")])
        var sink = RecordingSink()
        try driver.core.beginTransaction(clock: 0, boundsTimes: false)
        #expect(try driver.core.emit(driver.batch, 0..<2, limit: 1, into: &sink) == 1)
        #expect(driver.core.tableOffsets == [1])
        try driver.subscribe("token-2", to: "p1")
        try driver.core.beginTransaction(clock: 0, boundsTimes: false)
        _ = try driver.core.emit(driver.batch, 1..<2, limit: 10, into: &sink)
        #expect(sink.records.count == 3)
        #expect(driver.core.tableOffsets == [2])
    }

    @Test("an event with more devices than fan-out.max-devices is dead-lettered before anything of it is written")
    func tooManyDevices() throws {
        var configuration = try PipelineTestDriver.configuration()
        configuration.maxDevicesPerEvent = 3
        var driver = try PipelineTestDriver(configuration)
        for device in 0..<4 { try driver.subscribe("token-\(device)", to: "p1") }
        try driver.subscribe("token-9", to: "p2")
        try driver.process(.order("o1", place: "p1"), .order("o2", place: "p2"))
        #expect(driver.output.records.map(\.destination) == [.deadLetters, .dispatch])
        #expect(driver.counts.deadLetters(.tooManyDevices) == 1)
        #expect(driver.counts.nearDeviceLimit == 0)
        try driver.subscribe("token-8", to: "p2")
        try driver.process(.order("o3", place: "p2"))
        #expect(driver.counts.nearDeviceLimit == 1)
    }

    @Test("stale devices count as well, since the devices behind the limit are not read and would get nothing")
    func tooManyWithStale() throws {
        var configuration = try PipelineTestDriver.configuration()
        configuration.maxDevicesPerEvent = 3
        configuration.subscriptionsMaxAge = .seconds(1)
        var driver = try PipelineTestDriver(configuration)
        for device in 0..<9 {
            var subscription = Subscription.to("p1", "token-\(device)")
            subscription.lastSeenAt = device < 5 ? .epoch : nil
            try driver.subscribe(subscription)
        }
        try driver.process(.order("o1", place: "p1"))
        #expect(driver.output.records.map(\.destination) == [.deadLetters])
    }

    @Test("an event whose pushes have more bytes than fan-out.max-bytes is dead-lettered before any is written")
    func tooManyBytes() throws {
        func run(_ limit: Int) throws -> PipelineTestDriver {
            var configuration = try PipelineTestDriver.configuration()
            configuration.maxBytesPerEvent = limit
            configuration.rendering.optionalHeaders = Set(RenderSettings.OptionalHeader.allCases)
            var driver = try PipelineTestDriver(configuration)
            for device in 0..<3 { try driver.subscribe("token-\(device)", to: "p1") }
            try driver.subscribe("token-9", to: "p2")
            let ids = (0..<20).map { #""o\#($0)""# }.joined(separator: ",")
            try driver.process(
                SampleRecord(
                    key: "l",
                    value: #"{"event_id":"l","event_type":"ORDER_IDS_LISTED","place_id":"p1","order_ids":[\#(ids)]}"#),
                .order("o2", place: "p2"))
            return driver
        }
        let all = try run(1 << 30)
        #expect(all.output.dispatches.count == 61)
        let bytes = all.output.dispatches.dropLast().reduce(0) { sum, record in
            let headers = record.headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
            return sum + (record.key?.count ?? 0) + (record.value?.count ?? 0) + headers
        }
        #expect(try run(bytes).output.dispatches.count == 61)
        // What frames a token is not counted.
        let refused = try run(bytes - 60 * 200)
        #expect(refused.output.records.map(\.destination) == [.deadLetters, .dispatch])
        #expect(refused.counts.deadLetters(.tooManyBytes) == 1)
    }

    @Test("an event can be dead-lettered in place of its notifications, and its neighbours are sent")
    func deadLettered() throws {
        var driver = try PipelineTestDriver()
        try driver.subscribe("token-1", to: "p1")
        driver.extract([.order("o1", place: "p1"), .order("o2", place: "p1"), .order("o3", place: "p1")])
        driver.core.deadLetter(record: 1, DeadLetter(.recordRefused, "refused"))
        var sink = RecordingSink()
        _ = try driver.emitAll(into: &sink)
        #expect(sink.records.map(\.destination) == [.dispatch, .deadLetters, .dispatch])
        #expect(sink.records[2].header("source") == "orders.events/0/2")
    }

    @Test("a record that stands for an unreadable batch is a dead letter with its offsets, and its neighbours are sent")
    func unreadable() throws {
        var driver = try PipelineTestDriver()
        try driver.subscribe("token-1", to: "p1")
        driver.fill([.order("o1", place: "p1"), .order("o2", place: "p1"), .order("o3", place: "p1")])
        driver.batch.records[1].key = nil
        driver.batch.records[1].value = nil
        driver.batch.unreadable = [(partition: 0, offset: 1, letter: .unreadableBatch(-3...1, "it is a bomb"))]
        _ = driver.core.extract(&driver.batch, from: 0)
        var sink = RecordingSink()
        _ = try driver.emitAll(into: &sink)
        #expect(sink.records.map(\.destination) == [.dispatch, .deadLetters, .dispatch])
        #expect(sink.records[1].header("x-error-code") == "unreadable_batch")
        #expect(sink.records[1].header("__connect.errors.offset") == "1")
        #expect(
            sink.records[1].header("__connect.errors.exception.message")
                == "the batch of offsets -3 to 1 cannot be read: it is a bomb")
        #expect(sink.records[1].value == nil)
    }

    /// Fails at one record.
    struct FailingSink: RecordSink {
        struct Failure: Error {}
        var left: Int

        mutating func dispatch(
            _ record: DispatchRecord, for notification: Notifications.Notification, from event: EventRecord
        ) throws {
            guard left > 0 else { throw Failure() }
            left -= 1
        }

        mutating func deadLetter(
            _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
            headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
        ) {}
    }

    @Test("a batch that failed in the middle is taken again and gives the same bytes")
    func deterministic() throws {
        let events = (0..<20).map {
            SampleRecord.order(
                "o\($0)", $0 % 2 == 0 ? "ORDER_CREATED" : "ORDER_STATUS_CHANGED", place: "p1", status: "pending",
                eventID: "e\($0)")
        }
        var calm = try PipelineTestDriver()
        var driver = try PipelineTestDriver()
        for device in 0..<3 {
            try calm.subscribe("token-\(device)", to: "p1")
            try driver.subscribe("token-\(device)", to: "p1")
        }
        try calm.process(events)
        driver.extract(events)
        var failing = FailingSink(left: 31)
        #expect(throws: FailingSink.Failure.self) { _ = try driver.emitAll(into: &failing) }
        driver.core.rollBack()
        driver.extract(events)
        var sink = RecordingSink()
        _ = try driver.emitAll(limit: 10, into: &sink)
        #expect(sink.records == calm.output.records)
        #expect(sink.records.count == 60)
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

    @Test("what becomes of requests is counted for their topic, and of orders for theirs")
    func requests() throws {
        func request(_ members: String) -> SampleRecord {
            SampleRecord(value: #"{"message":{"title":"42"},"audience":"place/\#(members)}"#)
        }
        var driver = try PipelineTestDriver()
        try driver.subscribe("token-a", to: "p1")
        try driver.subscribe("token-b", to: "p1")
        try driver.process(.order("o1", place: "p1"))
        driver.batch = EventBatch(.requests, topic: "notifications.requests")
        try driver.process(
            request(#"p1""#), request(#"p1""#), request(#"p2""#), request(#"p1","expires_at":"2000-01-01T00:00:00Z""#),
            request(#"p1","colapse_key":"a""#))
        let counts = driver.counts
        #expect(counts.events(of: .orders) == 1 && counts.events(of: .requests) == 5)
        #expect(counts.dispatches(of: .orders) == 2 && counts.dispatches(of: .requests) == 4)
        #expect(counts.notificationsBySource[.orders] == 1 && counts.notificationsBySource[.requests] == 3)
        #expect(counts.suppressedRequests[.noSubscriber] == 1 && counts.suppressedRequests[.expired] == 1)
        #expect(counts.deadLettersOfRequests[.badRequest] == 1)
        #expect(counts.deadLettersOfOrders.total == 0 && counts.suppressedOrders.total == 0)
    }

    @Test("with requests.apps a request reaches the devices of these apps, and an order all")
    func appsOfRequests() throws {
        var configuration = try PipelineTestDriver.configuration()
        configuration.requests.apps = ["com.example.shop"]
        var driver = try PipelineTestDriver(configuration)
        for (place, app) in [("p1", "com.example.shop"), ("p1", "com.example.staff"), ("p2", "com.example.staff")] {
            var subscription = Subscription.to(place, "token-\(place)-\(app)")
            subscription.app = app
            try driver.subscribe(subscription)
        }
        try driver.process(.order("o1", place: "p1"))
        #expect(driver.output.records.count == 2)
        driver.batch = EventBatch(.requests, topic: "notifications.requests")
        for (audiences, count) in [(#""place/p1""#, 1), (#""place/p2""#, 0), (#"["place/p1","place/p2"]"#, 1)] {
            let before = driver.output.records.count
            try driver.process(SampleRecord(value: #"{"message":{"title":"42"},"audience":\#(audiences)}"#))
            #expect(driver.output.records.dropFirst(before).count == count)
        }
        #expect(driver.output.records.dropFirst(2).allSatisfy { $0.text.contains("token-p1-com.example.shop") })
    }

    @Test("a host's resolver is called once per batch, and has no table")
    func ownResolver() throws {
        var driver = try PipelineTestDriver(resolver: Places())
        try driver.process(.order("o1", place: "p1"), .order("o2", place: "p2"))
        #expect(driver.output.records.map { $0.text.contains("own-place/p1") } == [true, false])
        #expect(driver.core.tableOffsets == nil)
    }

    @Test("what a resolver throws aborts the transaction, and nothing of it counts")
    func resolverFails() throws {
        var driver = try PipelineTestDriver(resolver: Places(isDown: true))
        #expect(throws: Places.Down.self) { try driver.process(.order("o1", place: "p1")) }
        #expect(driver.core.counts.dispatches == 0)
        #expect(driver.counts.events == 0 && driver.output.records.isEmpty && driver.journal.isEmpty)
    }

    struct Everyone: AudienceRule {
        func addAudiences(of events: borrowing EventBatch, notifications: Range<Int>, to audiences: inout AudienceList)
        {
            for index in notifications {
                switch events.notifications[index].kind {
                case .request: break
                case .order(let order): audiences.append("place/\(events.string(order.placeID))", for: index)
                }
                audiences.append("user/everyone", for: index)
            }
        }
    }

    @Test("several audiences of one event are a union: each device once")
    func union() throws {
        var driver = try PipelineTestDriver(audienceRule: Everyone())
        try driver.subscribe("token-1", to: "p1")
        try driver.subscribe("token-2", to: "p1")
        try driver.subscribe(Subscription(audience: "user/everyone", token: "token-2", platform: .fcm, app: "a"))
        try driver.process(.order("o1", place: "p1"))
        #expect(driver.output.records.count == 2)
        #expect(Set(driver.output.records.map(\.key)).count == 2)
    }
}
