import Digests
import Events
import OrderState
import Pipeline
import StateStore

/// What many steps have in common.
struct StepOrigin: Hashable {
    var group: String
    var cluster: String?
    var dispatch: String
    var rules: String
}

/// The stored form of a step: sorted by partition, offsets and watermark, so that a step that only fired timers comes
/// before the one that continued from there, and the slices of an instant keep their order.
enum StepCoding {
    static func prefix(of partition: SourcePartition) -> [UInt8] { bigEndian(partition.bits) }

    static func key(of step: JournalStep) -> [UInt8] {
        prefix(of: step.partition) + bytes(step.from) + bytes(step.to)
            + bigEndian(UInt64(bitPattern: step.watermarkBefore.time) ^ 1 << 63) + bytes(step.watermarkBefore.split)
            + bigEndian(UInt32(bitPattern: step.place.partition)) + bytes(step.place.offset)
    }

    /// - Parameter origin: the number of its ``StepOrigin``.
    static func value(of step: JournalStep, origin: Int) -> [UInt8] {
        var value = bytes(step.watermarkAfter.time) + bytes(step.watermarkAfter.split)
        value += bytes(step.until.map(UInt64.init(bitPattern:))) + bytes(step.clock)
        value += bytes(step.first.map { UInt64(bitPattern: $0.offset) })
        value += bytes(step.first?.timestamp.map(UInt64.init(bitPattern:))) + bytes(step.first?.key?.number)
        value.append(step.isIncomplete ? 1 : 0)
        value += bigEndian(UInt32(origin)) + bigEndian(UInt32(step.table.map { $0.count + 1 } ?? 0))
        for offset in step.table ?? [] { value += bytes(offset) }
        return value
    }

    static func step(_ entry: StoreEntry, _ origins: [StepOrigin]) -> JournalStep {
        var key = Fields(bytes: entry.key)
        var value = Fields(bytes: entry.value)
        let partition = SourcePartition(bits: key.next(UInt32.self))
        let (from, to) = (key.number(), key.number())
        let before = TimerWatermark(Int64(bitPattern: key.next(UInt64.self) ^ 1 << 63), split: key.optional())
        let place = Coordinates(partition: Int32(bitPattern: key.next(UInt32.self)), offset: key.number())
        let after = TimerWatermark(value.number(), split: value.optional())
        let until = value.optional().map(Int64.init(bitPattern:))
        let clock = value.number()
        let offset = value.optional().map(Int64.init(bitPattern:))
        let timestamp = value.optional().map(Int64.init(bitPattern:))
        let hash = value.optional().map(StoredHash.init(number:))
        let isIncomplete = value.next(UInt8.self) == 1
        let origin = origins[Int(value.next(UInt32.self))]
        let count = Int(value.next(UInt32.self))
        let table = (1..<max(1, count)).map { _ in value.number() }
        return JournalStep(
            partition: partition, from: from, to: to, watermarkBefore: before, watermarkAfter: after, until: until,
            clock: clock, table: count == 0 ? nil : table, rules: origin.rules, group: origin.group,
            cluster: origin.cluster, dispatch: origin.dispatch,
            first: offset.map { RecordFingerprint(offset: $0, timestamp: timestamp, key: hash) },
            isIncomplete: isIncomplete, place: place)
    }

    private static func bytes(_ number: Int64) -> [UInt8] { bigEndian(UInt64(bitPattern: number)) }

    /// Nil sorts before every number.
    private static func bytes(_ number: UInt64?) -> [UInt8] { [number == nil ? 0 : 1] + bigEndian(number ?? 0) }
}

/// Concatenated numbers.
private struct Fields {
    let bytes: UnsafeRawBufferPointer
    private var place = 0

    init(bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    mutating func next<Number: FixedWidthInteger>(_ type: Number.Type) -> Number {
        defer { place += MemoryLayout<Number>.size }
        return Number(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: type))
    }

    mutating func number() -> Int64 { Int64(bitPattern: next(UInt64.self)) }

    mutating func optional() -> UInt64? {
        let isThere = next(UInt8.self) == 1
        let number = next(UInt64.self)
        return isThere ? number : nil
    }
}
