import KafkaClient
import Telemetry

extension Metrics {
    /// Counts batches that could not be read and were passed.
    package func countUnreadable(_ batches: [UnreadableBatch]) {
        for batch in batches {
            counter(
                "carillon_unreadable_batches_total",
                help: "Batches of records that cannot be decompressed; they were passed.",
                labels: ["topic": batch.partition.topic, "partition": "\(batch.partition.partition)"]
            ).add()
        }
    }
}
