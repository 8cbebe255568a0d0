import KafkaClient
import Pipeline

/// What the partitions of notifications.subscriptions say about one key, and what puts it right.
///
/// The newest record counts, by its timestamp, whichever partition it is in: it is what the device wanted last. A value,
/// fed with the records of the key in offset order of each partition; records that are no subscriptions are left out.
struct KeyState {
    /// The latest record of a partition.
    struct Said: Equatable {
        var partition: Int32
        var offset: Int64
        /// When its device said so: of a record that ``writes`` made, when the original did.
        var time: WallTime
        /// Nil: it unsubscribed.
        var value: [UInt8]?
        /// What it says of a token that this one replaces.
        var since: RecordHeader?
    }

    let key: [UInt8]
    /// The partition that the key belongs in.
    let home: Int32
    /// What is in the right partition now.
    private(set) var standing: Said?
    /// What counts in the right partition: differs from ``standing`` where ``writes`` has overwritten something newer.
    private var wanted: Said?
    /// By partition, what is in a wrong one and has not been ended.
    private var strays: [Int32: Said] = [:]

    init(key: [UInt8], partitions: Int) {
        self.key = key
        home = Murmur2.partition(of: key, count: Int32(partitions))
    }

    /// What is in wrong partitions and has no effect, in their order.
    var misplaced: [Said] { strays.values.sorted { $0.partition < $1.partition } }

    mutating func note(_ record: ConsumerRecord) {
        let time = record.timestamp ?? .epoch
        var said = Said(
            partition: record.partition, offset: record.offset.value, time: time, value: record.value,
            since: record.headers.last { $0.name == SubscriptionRecord.sinceHeader })
        let mended = Self.mendedTime(of: record)
        if let mended { said.time = mended }
        guard record.partition == home else {
            guard let mended else {
                strays[record.partition] = said
                return
            }
            // One that was written meanwhile is newer, and stays.
            if let stray = strays[record.partition], stray.time <= mended { strays[record.partition] = nil }
            return
        }
        standing = said
        if mended == nil || wanted.map({ $0.time <= said.time }) ?? true { wanted = said }
    }

    /// The records that put the key right, first what the right partition lacks. After them ``writes`` is empty.
    ///
    /// If the second part is not written, the next call has it: nothing is lost, and no order of reading matters, since
    /// what is in a wrong partition has no effect.
    var writes: (home: ProducerRecord?, ends: [ProducerRecord]) {
        let newest = ([wanted].compactMap(\.self) + misplaced).max { left, right in
            // Of the same time the right partition's counts, then that of the lowest number.
            (left.time, left.partition == home ? 1 : 0, -left.partition)
                < (right.time, right.partition == home ? 1 : 0, -right.partition)
        }
        var record: ProducerRecord?
        // An unsubscription is written where it ends something, or where a subscription could outlive it here: the nulls
        // are in partitions without an order between them.
        let ends = standing?.value != nil || strays.values.contains { $0.value != nil }
        if let newest, newest != standing, newest.value != nil || ends {
            record = Self.record(key, newest, in: home, newest.value)
        }
        return (record, misplaced.map { Self.record(key, $0, in: $0.partition, nil) })
    }

    /// The records that unsubscribe the key wherever it is; empty if it is nowhere.
    var unsubscription: [ProducerRecord] {
        let ends = misplaced.filter { $0.value != nil }.map { Self.record(key, $0, in: $0.partition, nil) }
        return (standing?.value == nil ? [] : [ProducerRecord(key: key, value: nil, partition: home)]) + ends
    }

    /// A record that stands for one that a device's own service wrote, and has its time.
    private static func record(
        _ key: [UInt8], _ said: Said, in partition: Int32, _ value: [UInt8]?
    ) -> ProducerRecord {
        let mark = RecordHeader(SubscriptionRecord.mendedHeader, Array("\(said.time.milliseconds)".utf8))
        return ProducerRecord(
            key: key, value: value, headers: [mark] + (value == nil ? [] : [said.since].compactMap(\.self)),
            partition: partition, timestamp: said.time > .epoch ? said.time : nil)
    }

    private static func mendedTime(of record: ConsumerRecord) -> WallTime? {
        guard let value = record.headers.last(where: { $0.name == SubscriptionRecord.mendedHeader })?.value else {
            return nil
        }
        return Int64(String(decoding: value, as: UTF8.self)).map(WallTime.init(milliseconds:))
    }
}
