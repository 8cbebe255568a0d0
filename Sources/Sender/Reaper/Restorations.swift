import KafkaClient
import Notifications

/// What came between the version that a reaper judged and what it wrote: that is written again, or it would be lost.
///
/// It is the fold of the records from the judged offsets on. The offset in each mark tells what its writer knew of, so
/// that it does not matter how often, and by which process, this is repeated.
package struct Restorations {
    private struct Key {
        /// The latest that others have written since the judged offset.
        var theirs: ConsumerRecord?
        /// What reapers have written, if that is the latest of the key, and the latest of others that it overwrote.
        var ours: (mark: ReapMark, isNull: Bool)?
    }

    private var keys: [[UInt8]: Key] = [:]

    /// Takes a record, in offset order of its partition. What is no subscription changes nothing, as in the table.
    package mutating func note(_ record: ConsumerRecord) {
        guard let key = record.key else { return }
        if let mark = ReapMark(of: record) {
            keys[key, default: Key()].ours = (mark, record.value == nil)
            return
        }
        if let value = record.value, (try? Subscription.decode(key: key, value: value)) == nil { return }
        keys[key] = Key(theirs: record, ours: nil)
    }

    /// What is to be written, in the order of partitions and offsets; empty if every mark is right.
    package var records: [ProducerRecord] {
        keys.values.compactMap { state -> (record: ConsumerRecord, mark: ReapMark)? in
            guard let ours = state.ours, let theirs = state.theirs, theirs.offset.value > ours.mark.judged else {
                return nil
            }
            // A null over a null changes nothing.
            if ours.isNull, theirs.value == nil { return nil }
            return (theirs, ReapMark(evidence: ours.mark.evidence, judged: theirs.offset.value))
        }
        .sorted { ($0.record.partition, $0.record.offset) < ($1.record.partition, $1.record.offset) }
        .map { record, mark in
            ProducerRecord(
                key: record.key, value: record.value,
                headers: record.headers.filter { $0.name != ReapMark.header } + [mark.recordHeader],
                partition: record.partition,
                // A later one would protect it from evidence that came meanwhile.
                timestamp: record.timestamp)
        }
    }
}
