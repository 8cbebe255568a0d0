import StageSupport
import StateStore
import Testing

@testable import Digests
@testable import Notifications

@Suite("The checkpoint of the state of orders (docs/code.md §7)")
struct CheckpointTests {
    private let store = MemoryStore()

    private func open(_ stamp: String = "orders.events 1234", cluster: String? = "c-1") throws -> FoldCheckpoint {
        try FoldCheckpoint(store, stamp: stamp, cluster: cluster)
    }

    /// A driver with some orders, whose changes are saved.
    private func driver(_ orders: Int) throws -> FoldDriver {
        var driver = try FoldDriver()
        driver.orders.trackChanges(of: 0)
        for index in 0..<orders {
            driver.append(
                event("o\(index)", status: "pending", slot: "2025-07-07 14:00-16:00", at: FoldDriver.morning))
        }
        try driver.process()
        return driver
    }

    private func mark(_ driver: borrowing FoldDriver) -> FoldCheckpoint.Mark {
        let offset = Int64(driver.committed)
        return .init(
            offset: offset, watermark: driver.watermark, newest: 5, foldedFrom: 7,
            recent: driver.orders.recentRecords(of: 0, below: offset))
    }

    @Test("what was saved is loaded: the same orders, and where they belong in the log")
    func roundTrip() throws {
        var saving = try open()
        var driver = try driver(40)
        try saving.save([0: mark(driver)], of: &driver.orders)
        driver.append(event("o1", "ORDER_STATUS_CHANGED", status: "picked", at: FoldDriver.morning + 60_000))
        try driver.process()
        try saving.save([0: mark(driver)], of: &driver.orders)

        let found = try open()
        #expect(found.marks == [0: mark(driver)])
        var other = try FoldDriver()
        other.orders.assign(0, watermark: driver.watermark, newest: FoldDriver.morning + 60_000)
        #expect(try found.load(0, into: &other.orders))
        #expect(other.orderViews == driver.orderViews)
        #expect(other.views["o1"]?.status == "picked")
    }

    @Test("the last sixteen records of a partition are saved with it, and are where a start begins")
    func recentRecords() throws {
        var saving = try open()
        var driver = try driver(40)
        try saving.save([0: mark(driver)], of: &driver.orders)
        let found = try #require(try open().marks[0]?.recent)
        #expect(found.elements.map(\.offset) == Array(24..<40))
        let key = Array("o39".utf8).withUnsafeBytes { StoredHash(of: $0) }
        #expect(
            found.elements.last == RecordFingerprint(offset: 39, timestamp: FoldDriver.morning, key: key))
        driver.orders.assign(0, watermark: 0, newest: 5)
        driver.orders.trackChanges(of: 0, recent: found)
        #expect(driver.orders.recentRecords(of: 0, below: 40) == found)
        driver.orders.stopTracking(0)
        #expect(driver.orders.recentRecords(of: 0, below: 40).elements.isEmpty)
    }

    @Test("a record that would take long to read again is not among them")
    func largeRecord() throws {
        var driver = try driver(2)
        var large = event("o3", status: "pending", at: FoldDriver.morning)
        large.value = Array(repeating: UInt8(ascii: " "), count: RecentFingerprints.largestValue + 1)
        driver.append(large)
        try driver.process()
        #expect(driver.orders.recentRecords(of: 0, below: 3).elements.map(\.offset) == [0, 1])
    }

    @Test("a partition without a split instant, without anything missing or without records is saved and found as well")
    func bareMark() throws {
        var saving = try open(cluster: nil)
        var driver = try driver(1)
        let bare = FoldCheckpoint.Mark(offset: 9, watermark: 3, newest: 0)
        let split = FoldCheckpoint.Mark(offset: 9, watermark: TimerWatermark(3, split: 5), newest: 0)
        try saving.save([0: bare, 1: split], of: &driver.orders)
        #expect(try open(cluster: nil).marks == [0: bare, 1: split])
    }

    @Test("what another cluster left is removed and said; a cluster that is not known compares nothing")
    func otherCluster() throws {
        var saving = try open()
        var driver = try driver(3)
        try saving.save([0: mark(driver)], of: &driver.orders)
        let unknown = try open(cluster: nil)
        #expect(unknown.marks == [0: mark(driver)])
        #expect(unknown.foreignCluster == nil)
        let other = try open(cluster: "c-2")
        #expect(other.foreignCluster == "c-1")
        #expect(other.marks.isEmpty)
        let reader = try store.makeReader()
        try reader.begin()
        #expect(try reader.count() == 0)
    }

    @Test("a known cluster id is kept while the broker does not report one")
    func keptCluster() throws {
        var saving = try open()
        var driver = try driver(3)
        try saving.save([0: mark(driver)], of: &driver.orders)
        var silent = try open(cluster: nil)
        driver.append(event("o1", "ORDER_STATUS_CHANGED", status: "picked", at: FoldDriver.morning + 60_000))
        try driver.process()
        try silent.save([0: mark(driver)], of: &driver.orders)
        #expect(try open(cluster: "c-2").foreignCluster == "c-1")
    }

    @Test("what is much is saved slice by slice, and belongs to no offset until the last one is there")
    func slices() throws {
        var saving = try open()
        var driver = try driver(40)
        #expect(try saving.save([0: mark(driver)], of: &driver.orders, limit: 25) == false)
        #expect(try open().marks.isEmpty)
        // One that was saved and one that was not change meanwhile.
        for order in ["o1", "o39"] {
            driver.append(event(order, "ORDER_STATUS_CHANGED", status: "picked", at: FoldDriver.morning + 60_000))
        }
        try driver.process()
        #expect(try saving.save([0: mark(driver)], of: &driver.orders, limit: 25) == true)
        let found = try open()
        #expect(found.marks == [0: mark(driver)])
        var other = try FoldDriver()
        other.orders.assign(0, watermark: driver.watermark, newest: FoldDriver.morning + 60_000)
        #expect(try found.load(0, into: &other.orders))
        #expect(other.orderViews == driver.orderViews)
    }

    @Test("the slices of an unfinished checkpoint are removed with their partition")
    func endedSlices() throws {
        var saving = try open()
        var driver = try driver(40)
        try saving.save([0: mark(driver)], of: &driver.orders, limit: 25)
        var found = try open()
        try found.remove(0)
        let reader = try store.makeReader()
        try reader.begin()
        #expect(try reader.count() == 0)
    }

    @Test("another version or other rules leave nothing of it", arguments: ["orders.events 9999", "other 1234"])
    func otherRules(stamp: String) throws {
        var saving = try open()
        var driver = try driver(3)
        try saving.save([0: mark(driver)], of: &driver.orders)
        #expect(try open(stamp).marks.isEmpty)
        #expect(try open().marks.isEmpty)
        let reader = try store.makeReader()
        try reader.begin()
        #expect(try reader.count() == 0)
    }

    @Test("a partition that another worker had in between is removed, the others stay")
    func removal() throws {
        var saving = try open()
        var driver = try driver(3)
        driver.orders.assign(1, watermark: 0, newest: 0)
        try saving.save([0: mark(driver), 1: mark(driver)], of: &driver.orders)
        try saving.remove(0)
        #expect(try open().marks.keys.sorted() == [1])
        #expect(try saving.load(0, into: &driver.orders))
        let reader = try store.makeReader()
        try reader.begin()
        #expect(try reader.count() == 0)
    }

    @Test("bytes that are no order are refused, and the caller folds from the log")
    func damaged() throws {
        var saving = try open()
        var driver = try driver(1)
        try saving.save([0: mark(driver)], of: &driver.orders)
        try store.write { writer throws(StoreError) in
            let result = [UInt8(0), 0, 0, 0, 7].withUnsafeBytes { key in
                [UInt8(1), 2, 3].withUnsafeBytes { value in
                    Result { () throws(StoreError) in try writer.put(key, value) }
                }
            }
            try result.get()
        }
        #expect(try saving.load(0, into: &driver.orders) == false)
    }

    @Test("an order whose type is none that this version writes is refused, whatever else is sound")
    func unknownOrderType() throws {
        var driver = try FoldDriver()
        driver.orders.trackChanges(of: 0)
        driver.append(event("o1", at: FoldDriver.morning, orderExtra: #""order_type":"d2d""#))
        try driver.process()
        var stored: [UInt8] = []
        driver.orders.takeChanges(of: 0) { _, block in stored = block.map { Array($0) } ?? [] }
        func load(_ change: (inout OrderHeader) -> Void) throws -> Bool {
            let other = try FoldDriver()
            var bytes = stored
            return bytes.withUnsafeMutableBytes { bytes in
                var header = bytes.loadUnaligned(as: OrderHeader.self)
                change(&header)
                bytes.storeBytes(of: header, as: OrderHeader.self)
                return other.orders[0]?.load(UnsafeRawBufferPointer(bytes)) ?? false
            }
        }
        #expect(try load { _ in })
        #expect(try !load { $0.flags.remove(.d2d) })
        #expect(try !load { $0.flags.insert(.food) })
        for type in OrderType.allCases {
            #expect(
                try load {
                    $0.flags.subtract(.orderTypes)
                    $0.flags.insert(OrderHeader.Flags(type))
                })
            #expect(OrderHeader.Flags(type).orderType == type)
        }
    }

    @Test("nothing is written where nothing has moved")
    func unchanged() throws {
        var saving = try open()
        var driver = try driver(2)
        try saving.save([0: mark(driver)], of: &driver.orders)
        let counting = CountingStore(store)
        var again = try FoldCheckpoint(counting, stamp: "orders.events 1234", cluster: "c-1")
        try again.save([0: mark(driver)], of: &driver.orders)
        #expect(counting.writes == 0)
    }

    @Test("a checkpoint is stamped with what its fold depends on, and not with what is sent of it")
    func stampedWith() throws {
        typealias Change = (inout ExtractionRules, inout OrderRules) throws -> Void
        func made(_ change: Change) throws -> String {
            var (rules, orders) = (try ExtractionRules(), OrderRules())
            try change(&rules, &orders)
            return OrderFold.stamp(rules, orders)
        }
        let plain = try made { _, _ in }
        let same: [Change] = [
            { $1.schedule?.maxLateness = .seconds(5) }, { $1.schedule?.spread = .seconds(5) },
        ]
        for change in same { #expect(try made(change) == plain) }
        let other: [Change] = [
            { rules, _ in rules = try ExtractionRules(timeZone: "Europe/Berlin") },
            { rules, _ in rules = try ExtractionRules(placeTimeZones: ["1": "Europe/Berlin"]) },
            { rules, _ in rules = try ExtractionRules(infersStatusChanges: true) },
            { $1.horizon = .seconds(86_400) }, { $1.terminalRetention = .seconds(60) },
            { $1.terminalStatuses = ["gone"] }, { $1.unpickedStatuses = ["new"] }, { $1.schedule = nil },
        ]
        #expect(Set(try other.map(made) + [plain]).count == other.count + 1)
    }
}

/// Counts what is written to a store.
private final class CountingStore: OrderedStore, @unchecked Sendable {
    private let store: MemoryStore
    private(set) var writes = 0

    init(_ store: MemoryStore) { self.store = store }

    func makeReader() throws(StoreError) -> any StoreReader { try store.makeReader() }

    func write(_ body: (any StoreWriter) throws(StoreError) -> Void) throws(StoreError) {
        writes += 1
        try store.write(body)
    }

    func close() throws(StoreError) { try store.close() }
}
