import Testing

@testable import KafkaClient
@testable import Notifications
@testable import Pipeline
@testable import carillon

/// A topic of three partitions with one key, on which the mending is tried at every step.
private struct Log {
    static let partitions = 3
    let key = Array(Subscription(audience: "place/1", token: "t", platform: .fcm, app: "a").key.utf8)
    private(set) var records: [ConsumerRecord] = []
    private var clock: WallTime = 1_000

    var home: Int32 { Murmur2.partition(of: key, count: Int32(Self.partitions)) }

    /// A device's service writes to this many partitions behind the right one.
    mutating func write(_ value: [UInt8]?, wrongBy step: Int32) {
        clock += 1
        append(value, [], in: (home + step) % Int32(Self.partitions), at: clock)
    }

    mutating func append(_ record: ProducerRecord) {
        append(record.value, record.headers, in: record.partition ?? -1, at: record.timestamp ?? clock)
    }

    private mutating func append(_ value: [UInt8]?, _ headers: [RecordHeader], in partition: Int32, at time: WallTime) {
        records.append(
            ConsumerRecord(
                topic: "s", partition: partition, offset: Offset(Int64(records.count { $0.partition == partition })),
                timestamp: time, key: key, value: value, headers: headers))
    }

    /// What compaction leaves: the last record of each partition; without the tombstones, if those are old.
    mutating func compact(dropsNulls: Bool) {
        records = records.enumerated().filter { index, record in
            let isLast = !records[(index + 1)...].contains { $0.partition == record.partition }
            return isLast && !(dropsNulls && record.value == nil)
        }.map(\.element)
    }

    var state: KeyState {
        var state = KeyState(key: key, partitions: Self.partitions)
        for record in records { state.note(record) }
        return state
    }

    /// Whether mending would write nothing.
    var isMended: Bool { state.writes.home == nil && state.writes.ends.isEmpty }

    /// Writes what mending would, up to `count` records.
    mutating func mend(atMost count: Int = .max) {
        let writes = state.writes
        for record in ([writes.home].compactMap(\.self) + writes.ends).prefix(count) { append(record) }
    }
}

@Suite("The places of a subscription")
struct KeyStateTests {
    private static let value: [UInt8] = Array("{}".utf8)

    /// Every sequence of so many writes: subscribe or unsubscribe, in the right partition or in one of two wrong ones.
    private static func sequences(_ count: Int) -> [[Int]] {
        (0..<count).reduce([[]]) { found, _ in found.flatMap { one in (0..<6).map { one + [$0] } } }
    }

    private static func log(_ sequence: [Int]) -> Log {
        var log = Log()
        for each in sequence { log.write(each < 3 ? value : nil, wrongBy: Int32(each % 3)) }
        return log
    }

    @Test(
        "after mending the right partition says what the newest record said, and nothing is misplaced", arguments: 1...4
    )
    func newest(count: Int) {
        for sequence in Self.sequences(count) {
            var log = Self.log(sequence)
            let newest = log.records.last?.value
            log.mend()
            #expect(log.state.standing?.value == newest, "\(sequence)")
            #expect(log.state.misplaced.isEmpty, "\(sequence)")
            #expect(log.isMended, "a second time there is nothing to write: \(sequence)")
        }
    }

    @Test(
        "a subscription is never lost: a mending that dies after any record is finished by the next one",
        arguments: 1...3)
    func killed(count: Int) {
        for sequence in Self.sequences(count) {
            for written in 0...3 {
                var log = Self.log(sequence)
                let newest = log.records.last?.value
                log.mend(atMost: written)
                let isSomewhere = log.state.standing?.value != nil || log.state.misplaced.contains { $0.value != nil }
                #expect(newest == nil || isSomewhere, "\(sequence), \(written)")
                log.mend()
                #expect(log.state.standing?.value == newest, "\(sequence), \(written)")
                #expect(log.state.misplaced.isEmpty)
            }
        }
    }

    @Test("compaction between a mending that died and the next one changes nothing")
    func compacted() {
        for sequence in Self.sequences(3) {
            for written in 1...3 {
                var log = Self.log(sequence)
                let newest = log.records.last?.value
                log.mend(atMost: written)
                log.compact(dropsNulls: false)
                log.mend()
                #expect(log.state.standing?.value == newest, "\(sequence), \(written)")
                log.compact(dropsNulls: true)
                #expect(log.isMended, "\(sequence), \(written)")
                #expect(log.state.standing?.value == newest, "\(sequence), \(written)")
            }
        }
    }

    @Test("a mended subscription still says since when the device has been there")
    func since() {
        let since = RecordHeader("since", Array("1751000000000".utf8))
        var log = Log()
        log.append(
            ProducerRecord(
                key: log.key, value: Self.value, headers: [since], partition: (log.home + 1) % Int32(Log.partitions)))
        let writes = log.state.writes
        #expect(writes.home?.headers.last == since && writes.ends.map(\.headers.count) == [1])
        log.mend()
        #expect(log.isMended)
    }

    @Test("what a device says between the plan and its writes is not lost: the next round writes it again")
    func concurrent() {
        for sequence in Self.sequences(2) {
            for meanwhile in 0..<6 {
                var log = Self.log(sequence)
                let writes = log.state.writes
                log.write(meanwhile < 3 ? [UInt8](Self.value + [32]) : nil, wrongBy: Int32(meanwhile % 3))
                let newest = log.records.last?.value
                for record in [writes.home].compactMap(\.self) + writes.ends { log.append(record) }
                log.mend()
                #expect(log.state.standing?.value == newest, "\(sequence), \(meanwhile)")
                #expect(log.state.misplaced.isEmpty, "\(sequence), \(meanwhile)")
            }
        }
    }

    @Test("unsubscribing ends it wherever it is, and mending afterwards brings nothing back")
    func unsubscription() {
        for sequence in Self.sequences(3) {
            var log = Self.log(sequence)
            for record in log.state.unsubscription { log.append(record) }
            #expect(log.state.standing?.value == nil, "\(sequence)")
            #expect(log.state.misplaced.allSatisfy { $0.value == nil }, "\(sequence)")
            log.mend()
            #expect(log.state.standing?.value == nil, "\(sequence)")
            #expect(log.state.unsubscription.isEmpty, "\(sequence)")
        }
    }

    @Test("nobody's subscription has nothing to end")
    func nobody() {
        #expect(Log().state.unsubscription.isEmpty)
        #expect(Log().state.writes.home == nil)
    }

    @Test("of the same time the right partition's record counts")
    func tie() {
        var log = Log()
        let time: WallTime = 5
        log.append(ProducerRecord(key: log.key, value: nil, partition: log.home, timestamp: time))
        log.append(ProducerRecord(key: log.key, value: Self.value, partition: (log.home + 1) % 3, timestamp: time))
        #expect(log.state.writes.home == nil)
        #expect(log.state.writes.ends.count == 1)
    }
}
