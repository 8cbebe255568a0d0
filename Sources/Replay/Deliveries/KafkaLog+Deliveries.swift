import JSONReader
import KafkaClient
import Notifications

extension KafkaLog {
    /// Reads outcomes from ranges of the topic that has them.
    ///
    /// - Parameters:
    ///   - isWanted: whether to parse a record.
    ///   - take: receives each outcome, in offset order of each partition.
    ///   - progress: the number of records so far, and the fraction that was read.
    /// - Returns: how many of the wanted records are no outcomes.
    @discardableResult
    func readDeliveries(
        _ ranges: [Int32: Range<Int64>], of topic: String, where isWanted: (RecordView) -> Bool = { _ in true },
        take: (DeliveryRecord, RecordView) throws -> Void, progress: (Int, Double) -> Void
    ) throws -> Int {
        var reader = JSONReader()
        var unreadable = 0
        try read(ranges, of: topic) { records, indices in
            for index in indices {
                let record = records[index]
                guard isWanted(record) else { continue }
                guard let value = record.value.flatMap({ try? reader.parse($0) }),
                    let outcome = try? DeliveryRecord(value)
                else {
                    unreadable += 1
                    continue
                }
                try take(outcome, record)
            }
        } progress: {
            progress($0, $1)
        }
        return unreadable
    }

    /// Counts the outcomes from a time on, and with `topic.receipts` what phones have said.
    ///
    /// - Parameter to: nil: the end of the topics.
    package mutating func summarize(
        _ topics: PipelineConfiguration.Topics, from: WallTime, to: WallTime?, progress: (Int, Double) -> Void
    ) throws -> DeliverySummary {
        var summary = DeliverySummary()
        let outcomes = topics.deliveries
        summary.unreadable = try readDeliveries(try range(of: outcomes, from: from, to: to), of: outcomes) {
            outcome, _ in
            summary.note(outcome)
        } progress: {
            progress($0, $1)
        }
        guard !topics.receipts.isEmpty else { return summary }
        do {
            try readReceipts(try range(of: topics.receipts, from: from, to: to), of: topics.receipts) {
                summary.note($0)
            } progress: {
                progress($0, $1)
            }
        } catch let error as KafkaError where error.leavesOutcomesUnknown {
            summary.receiptsUnknown = "\(error)"
        }
        return summary
    }
}
