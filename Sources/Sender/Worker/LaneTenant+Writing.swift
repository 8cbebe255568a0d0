import KafkaClient
import NotificationPayload
import Notifications
import Pipeline
import Streaming

extension LaneTenant {
    func mustCommit(isOpen: Bool) -> Bool { core.isUrgent || pace.isDue(now: context.host.time.now()) }

    /// Outcomes, retries, and how far the lane is.
    mutating func finish(_ time: TransactionTime) throws -> [TopicPartition: CommittedOffset]? {
        guard let content = core.takeTransaction(now: time.clock) else { return nil }
        pace.commits(now: context.host.time.now())
        for index in content.outcomes.indices { try write(content.outcomes[index]) }
        for retry in content.retries { try write(retry) }
        var offsets: [TopicPartition: CommittedOffset] = [:]
        for commit in content.commits {
            let partition = TopicPartition(topic: context.topic(commit.stream), partition: commit.partition)
            offsets[partition] = CommittedOffset(
                offset: Offset(commit.offset.offset), metadata: commit.offset.metadata)
        }
        return offsets
    }

    private mutating func write(_ outcome: DeliveryRecord) throws(KafkaError) {
        text.removeAll()
        outcome.append(to: &text)
        let key = Array(outcome.device.utf8)
        let value = text.bytes
        try key.withUnsafeBufferPointer { key throws(KafkaError) in
            try transaction.write(
                to: 0, key: UnsafeRawBufferPointer(key), value: value, partition: outcome.partition)
        }
    }

    private func write(_ retry: LaneTransaction.Retry) throws(KafkaError) {
        var headers = retry.record.headers.map { header in
            RecordHeader(String(decoding: header.name, as: UTF8.self), header.value)
        }
        headers.append(RecordHeader("\(RetryNote.header)", Array(retry.note.text.utf8)))
        try transaction.write(
            ProducerRecord(
                key: Array(retry.record.deviceHash.utf8), value: retry.record.value, headers: headers,
                partition: retry.record.partition), to: output(of: context.topic(retry.stream)))
    }

    /// The number of a retry topic among the outputs, which begin with the topic of outcomes.
    private func output(of retryTopic: String) -> Int {
        context.retryTopics.firstIndex(of: retryTopic).map { $0 + 1 } ?? 0
    }

    /// The retry topics have the broker's times.
    func clockRecord() -> (record: ProducerRecord, output: Int) {
        let headers = [RecordHeader("\(LaneRecordReader.clockHeader)", [0x31])]
        let topic = context.retryTopics.min() ?? context.configuration.topics.deliveries
        return (ProducerRecord(key: nil, value: [], headers: headers), output(of: topic))
    }

    mutating func committed() {
        if let written = core.writing { context.meter.committed(written) { [context] in context.topic($0) } }
        core.committed()
    }

    mutating func aborted() {
        context.meter.aborted()
        core.aborted()
    }
}
