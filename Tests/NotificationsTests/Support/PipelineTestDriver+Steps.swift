import CarillonTesting
import StageSupport

@testable import Notifications
@testable import Pipeline

/// The driver's transactions in steps, for tests of what is between them.
extension PipelineTestDriver {
    /// Extracts these events as one batch.
    mutating func extract(_ records: [SampleRecord]) {
        fill(records)
        _ = core.extract(&batch, from: 0)
    }

    /// Emits in one transaction after the other until the batch is done; the end of each.
    mutating func emitAll(limit: Int = .max, into sink: inout some RecordSink) throws -> [Int] {
        var ends: [Int] = []
        while (ends.last ?? 0) < batch.records.count {
            try core.beginTransaction(clock: 0, boundsTimes: false)
            ends.append(try core.emit(batch, (ends.last ?? 0)..<batch.records.count, limit: limit, into: &sink))
        }
        return ends
    }

    /// Subscribes a token to a place.
    func subscribe(_ token: String, to place: String) throws { try subscribe(.to(place, token)) }
}
