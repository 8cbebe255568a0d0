import KafkaClient

/// Reads what came after the plan, before each slice of a re-drive, and judges pushes by it and by the
/// clock.
///
/// Cost of a look: a few requests to the broker, and the records since the last look; the first one also reads those
/// that the pipeline had not committed when the plan was made. One owner, one thread.
struct RedriveWatch: ~Copyable {
    /// Where a plan stopped reading: by partition of each topic, the next offset.
    struct Ends {
        var events: [Int32: Int64] = [:]
        var dispatch: [Int32: Int64] = [:]
        var subscriptions: [Int32: Int64] = [:]
        /// The number of partitions of the events topic.
        var eventPartitions = 0
    }

    private let topics: PipelineConfiguration.Topics
    private var follower: LogFollower
    private let news: RedriveNews
    /// The number of partitions of the subscriptions topic.
    private let partitions: Int

    init(_ news: RedriveNews, from ends: Ends, _ context: ReplayContext) throws {
        let topics = context.configuration.topics
        var starts: [TopicPartition: Offset] = [:]
        for (topic, offsets) in [
            (topics.events, ends.events), (topics.dispatch, ends.dispatch), (topics.subscriptions, ends.subscriptions),
        ] {
            for (partition, offset) in offsets {
                starts[TopicPartition(topic: topic, partition: partition)] = Offset(offset)
            }
        }
        let counts = [
            topics.events: ends.eventPartitions, topics.dispatch: ends.dispatch.count,
            topics.subscriptions: ends.subscriptions.count,
        ]
        follower = try LogFollower(starts, partitionCounts: counts, context)
        self.topics = topics
        self.news = news
        partitions = ends.subscriptions.count
    }

    /// Reads what was appended since the last look.
    ///
    /// - Throws: what ``LogFollower/advance(tell:take:)`` throws.
    mutating func look(tell: (String) -> Void) throws {
        let (topics, news, partitions) = (topics, news, partitions)
        var batch = EventBatch(.orders, topic: topics.events)
        var pushes = DispatchTopic()
        try follower.advance(tell: tell) { records in
            batch.removeAll()
            batch.append(contextOf: records)
            for index in 0..<records.count {
                let record = records[index]
                if record.topic == topics.events {
                    try news.note(EventRecord(record), of: batch)
                } else if record.topic == topics.subscriptions {
                    try news.note(
                        SubscriptionRecord(of: records, at: index, partitions: partitions),
                        at: record.timestamp ?? .epoch)
                } else {
                    try pushes.withRecord(of: records, at: index) { try news.note($0, at: $1) }
                }
            }
        }
    }

    /// Why a push must not be sent now; nil if it may be.
    func reason(against push: RedriveList.Entry, now: WallTime) throws -> RedriveOmission? {
        try news.reason(against: push, now: now)
    }
}
