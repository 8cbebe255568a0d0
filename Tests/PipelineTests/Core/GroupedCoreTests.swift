import KafkaClient
import Testing

@testable import CarillonTesting
@testable import DispatchRecords
@testable import Events
@testable import FanOut
@testable import Pipeline
@testable import Subscriptions

@Suite("§7.2: the core with dispatch.grouping=audience")
struct GroupedCoreTests {
    private static func configuration(
        _ grouping: DispatchGrouping = .audience
    ) throws -> PipelineConfiguration {
        var configuration = try PipelineTestDriver.configuration()
        configuration.dispatchGrouping = grouping
        return configuration
    }

    private func driver(_ grouping: DispatchGrouping = .audience, devices: Int = 5) throws -> PipelineTestDriver {
        let driver = try PipelineTestDriver(try Self.configuration(grouping))
        for device in 0..<devices { try driver.subscribe("token-\(device)", to: "p1") }
        return driver
    }

    private func expanded(_ records: [RecordedRecord]) throws -> [RecordedRecord] {
        var reader = GroupedReader()
        var found: [RecordedRecord] = []
        for record in records {
            try record.withView { record in
                try reader.forEachDevice(of: record) { found.append(RecordedRecord($0)) }
            }
        }
        return found
    }

    @Test("an event is one record for the devices of its place, and expanded what single records are")
    func oneRecord() throws {
        let events = (0..<10).map { SampleRecord.order("o\($0)", place: $0 % 3 == 0 ? "p2" : "p1") }
        var single = try driver(.device)
        var grouped = try driver()
        try single.process(events)
        try grouped.process(events)
        #expect(single.output.records.count == 30 && grouped.output.records.count == 6)
        #expect(grouped.output.records.allSatisfy { $0.key == Array("place/p1".utf8) && $0.header("devices") == "5" })
        #expect(try expanded(grouped.output.records) == single.output.records)
    }

    @Test("pushes are counted by device, and records beside them")
    func counts() throws {
        var grouped = try driver()
        try grouped.process(.order("o1", place: "p1"), .order("o2", place: "p1"))
        #expect(grouped.counts.dispatches == 10 && grouped.counts.dispatchRecords == 2)
        var single = try driver(.device)
        try single.process(.order("o1", place: "p1"), .order("o2", place: "p1"))
        #expect(single.counts.dispatches == 10 && single.counts.dispatchRecords == 10)
    }

    @Test("a transaction's limit counts records")
    func limit() throws {
        var driver = try driver()
        driver.extract((0..<6).map { .order("o\($0)", place: "p1") })
        var sink = RecordingSink()
        #expect(try driver.emitAll(limit: 2, into: &sink) == [2, 4, 6])
        #expect(sink.records.count == 6)
    }

    @Test("fan-out.max-devices still counts devices")
    func tooManyDevices() throws {
        var configuration = try Self.configuration()
        configuration.maxDevicesPerEvent = 3
        var driver = try PipelineTestDriver(configuration)
        for device in 0..<4 { try driver.subscribe("token-\(device)", to: "p1") }
        try driver.process(.order("o1", place: "p1"))
        #expect(driver.output.records.map(\.destination) == [.deadLetters])
    }

    @Test("stale devices are left out before devices are grouped")
    func stale() throws {
        var driver = try driver(devices: 2)
        try driver.subscribe(
            Subscription(
                audience: "place/p1", token: "old", platform: .fcm, app: "a", lastSeenAt: WallTime(milliseconds: 0)))
        try driver.process(.order("o1", place: "p1"))
        #expect(driver.output.records.first?.header("devices") == "2" && driver.counts.staleDevices == 1)
        #expect(driver.output.records.first?.text.contains("\"old\"") == false)
    }

    @Test("a batch that failed in the middle of an event's groups gives the same records again")
    func failure() throws {
        let events = (0..<8).map { SampleRecord.order("o\($0)", place: "p1") }
        var calm = try driver(devices: 1_200)
        var driver = try driver(devices: 1_200)
        try calm.process(events)
        driver.extract(events)
        var failing = PipelineCoreTests.FailingSink(left: 7)
        #expect(throws: PipelineCoreTests.FailingSink.Failure.self) { _ = try driver.emitAll(into: &failing) }
        driver.core.rollBack()
        driver.extract(events)
        var sink = RecordingSink()
        _ = try driver.emitAll(into: &sink)
        #expect(sink.records == calm.output.records && sink.records.count == 24)
    }

    @Test("groups of a batch that was rolled back are not written for an event that nobody gets")
    func forgottenGroups() throws {
        var driver = try driver(devices: 1)
        try driver.subscribe(
            Subscription(audience: "place/p1", token: "abcdef", platform: .apns, app: "a", environment: .production))
        driver.extract([.order("o1", place: "p1")])
        var failing = PipelineCoreTests.FailingSink(left: 0)
        #expect(throws: PipelineCoreTests.FailingSink.Failure.self) { _ = try driver.emitAll(into: &failing) }
        driver.core.rollBack()
        driver.extract([.order("o2", place: "nobody"), .order("o3", place: "p1")])
        var sink = RecordingSink()
        _ = try driver.emitAll(into: &sink)
        #expect(sink.records.count == 2 && sink.records.allSatisfy { $0.header("source")?.hasSuffix("/1") == true })
    }
}

extension RecordedRecord {
    fileprivate init(_ record: DispatchRecord) {
        self.init(
            destination: .dispatch, key: Array(record.key), value: Array(record.value),
            headers: record.headers.map { header in
                RecordHeader(String(decoding: header.name, as: UTF8.self), header.value.map { Array($0) })
            })
    }

    /// Calls `body` with a view, which is valid during the call.
    fileprivate func withView(_ body: (DispatchRecord) throws -> Void) rethrows {
        let memory = Memory()
        defer { withExtendedLifetime(memory) {} }
        let views = headers.map { header in
            EventHeader(name: memory.copy(header.name), value: header.value.map { memory.copy($0) })
        }
        try views.withUnsafeBufferPointer { views in
            try body(DispatchRecord(key: memory.copy(key ?? []), value: memory.copy(value ?? []), headers: views))
        }
    }
}
