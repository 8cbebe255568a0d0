import Digests

/// What many steps have in common.
struct StepOrigin: Hashable {
    var group: String
    var cluster: String?
    var dispatch: String
    var rules: String

    init(_ step: JournalStep) {
        (group, cluster, dispatch, rules) = (step.group, step.cluster, step.dispatch, step.rules)
    }
}

/// The row of a step. A step that only fired timers comes before the one that continued from there, and the slices of
/// an instant keep their order.
enum StepRow {
    static let schema = """
        CREATE TABLE origins (number INTEGER PRIMARY KEY, "group", cluster, dispatch, rules);
        CREATE TABLE steps (
            partition, start, end, before, before_split, entry_partition, entry_offset, after, after_split, until, clock,
            first_offset, first_time, first_key, is_incomplete, positions, origin,
            PRIMARY KEY (partition, start, end, before, before_split, entry_partition, entry_offset))
        """
    static let insert = "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    static let select = """
        SELECT * FROM steps JOIN origins ON number = origin WHERE partition = ? AND start <= ?
        ORDER BY start, end, before, before_split, entry_partition, entry_offset
        """

    static func write(_ step: JournalStep, origin: Int, with insert: Statement) throws(ScratchError) {
        let (before, after) = (step.watermarkBefore, step.watermarkAfter)
        try insert.run(
            Int64(step.partition.bits), step.from, step.to, before.time, before.split.map(sorted),
            step.coordinates.partition, step.coordinates.offset, after.time, after.split.map(sorted), step.until,
            step.clock,
            step.first?.offset, step.first?.timestamp, step.first?.key.map { Int64(bitPattern: $0.number) },
            step.isIncomplete, step.table.map { $0.withUnsafeBytes { Array($0) } }, origin)
    }

    static func read(_ row: Row, of partition: SourcePartition) -> JournalStep {
        func watermark(_ column: Int32) -> TimerWatermark {
            TimerWatermark(row.time(column), split: row.optionalNumber(column + 1).map(split))
        }
        let first = row.optionalNumber(11).map { offset in
            RecordFingerprint(
                offset: offset, timestamp: row.optionalTime(12),
                key: row.optionalNumber(13).map { StoredHash(number: UInt64(bitPattern: $0)) })
        }
        return JournalStep(
            partition: partition, from: row.number(1), to: row.number(2), watermarkBefore: watermark(3),
            watermarkAfter: watermark(7), until: row.optionalTime(9), clock: row.time(10),
            table: row.isNull(15) ? nil : positions(row.bytes(15)), rules: row.text(21), group: row.text(18),
            cluster: row.isNull(19) ? nil : row.text(19), dispatch: row.text(20), first: first,
            isIncomplete: row.number(14) == 1,
            coordinates: Coordinates(partition: Int32(row.number(5)), offset: row.number(6)))
    }

    private static func positions(_ bytes: UnsafeRawBufferPointer) -> [Int64] {
        (0..<bytes.count / 8).map { bytes.loadUnaligned(fromByteOffset: 8 * $0, as: Int64.self) }
    }

    /// Sorts as the hashes do.
    private static func sorted(_ split: UInt64) -> Int64 { Int64(bitPattern: split ^ 1 << 63) }

    private static func split(_ sorted: Int64) -> UInt64 { UInt64(bitPattern: sorted) ^ 1 << 63 }
}
