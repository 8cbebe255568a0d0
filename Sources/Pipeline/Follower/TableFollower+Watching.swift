import KafkaClient
import Streaming

extension TableFollower {
    /// Replaces a consumer that gets nothing although there is something to read (docs/kafka.md 11). If a new one gets
    /// nothing either, the process is not alive.
    mutating func watchConsumer() throws {
        // A full buffer is not read into, and without an answer it is unknown whether there is something to read.
        let hasNews = !records.isEmpty || !records.endsOfPartition.isEmpty
        guard !hasNews, !mustStore, freshness.isAnswered, let ends else {
            watch.progressed(hasRecords: !records.isEmpty, now: context.now)
            return context.host.health.consumerIsHopeless(watch.isHopeless, of: Self.name)
        }
        guard watch.isCheckDue(now: context.now) else { return }
        let offsets = position.offsets
        let isStuck = watch.isStuck(
            ends: Dictionary(uniqueKeysWithValues: zip(partitions, ends)).filter { read.starts[$0.key] != nil },
            reached: { offsets[Int($0.partition)] }, now: context.now)
        context.host.health.consumerIsHopeless(watch.isHopeless, of: Self.name)
        guard isStuck else { return }
        logger.notice("recreates the subscriptions' consumer: \(KafkaError.stuckConsumer.message)")
        try replaceConsumer()
        context.meter.count { $0.recreatedClients += 1 }
    }

    /// Warns once a minute that an open transaction keeps subscriptions from being read: whoever unsubscribes meanwhile
    /// still gets pushes.
    mutating func watchTransactions() {
        guard let ends else { return }
        let watermarks = consumer.highWatermarks(partitions)
        for (partition, end) in zip(partitions, ends) {
            guard let watermark = watermarks[partition],
                hungTransactions.observe(
                    partition: partition, lastStable: end, highWatermark: watermark.value, now: context.now)
            else { continue }
            logger.warning(
                "a transaction has been open on the subscriptions for more than a minute: no subscription and no "
                    + "unsubscription after it can be read",
                ["partition": "\(partition)", "open_since_offset": "\(end)", "high_watermark": "\(watermark)"])
        }
        context.meter.setHungSubscriptions(hungTransactions.hung.count)
    }

    static var name: String { "the subscriptions table" }
}
