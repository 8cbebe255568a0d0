import JSONReader
import KafkaClient
import Pipeline
import Synchronization

/// Follows `topic.requests` from a day ago on, so that the index has what other processes write. One thread runs it, any asks.
package final class RequestFollower: Sendable {
    private let configuration: PipelineConfiguration
    private let index: RequestIndex
    private let logger: Logger
    private let metrics: Metrics
    private let caughtUp = Atomic(false)

    package init(_ configuration: PipelineConfiguration, _ index: RequestIndex, logger: Logger, metrics: Metrics) {
        (self.configuration, self.index, self.logger, self.metrics) = (configuration, index, logger, metrics)
    }

    /// Whether it has ever read what the topic had at its start.
    package var isCaughtUp: Bool { caughtUp.load(ordering: .acquiring) }

    /// Follows the topic until the host drains or stops.
    ///
    /// - Throws: ``PipelineError`` where a person has to act and the topic's ends have never been reached.
    package func run(on host: RoleHost) throws {
        let patience = Patience()
        var reader = JSONReader()
        do {
            while !host.mustEnd {
                let terms = LogReading.Terms(
                    topics: [configuration.topics.requests], from: .time(host.clock.now() - RequestIndex.generation),
                    interval: .seconds(1), readsHeaders: false)
                var reading = try host.untilItWorks(logger, patience) { () throws(KafkaError) in
                    try LogReading(terms, configuration.kafka, host, patience, logger: logger, metrics: metrics)
                }
                while !host.mustEnd, try reading.round({ take($0, &reader, now: host.clock.now()) }) {
                    if reading.freshSince != nil { caughtUp.store(true, ordering: .releasing) }
                }
            }
        } catch is PipelineEnded {}
    }

    private func take(_ records: borrowing RecordBatch, _ reader: inout JSONReader, now: WallTime) {
        for number in 0..<records.count {
            let record = records[number]
            guard let value = record.value, let object = try? reader.parse(value),
                let id = RequestBody.id(of: object)
            else { continue }
            index.take(
                id, RequestBody.content(of: object), for: RequestBody.audiences(of: object),
                RequestIndex.RecordMetadata(
                    partition: record.partition, offset: record.offset, time: record.timestamp ?? now), at: now)
        }
    }
}
