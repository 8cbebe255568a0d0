import CRDKafka

extension Consumer {
    /// How long the search for the end of an unreadable batch may take: it blocks the owner. librdkafka reports the batch
    /// again after `fetch.error.backoff.ms`, so what took too long is tried again.
    private static var longestSearch: Duration { .seconds(10) }

    /// Passes a batch that librdkafka cannot decompress, at which 2.0.2 would stay for ever (docs/kafka.md 25).
    ///
    /// All records before it have been read, since the error comes behind them; the seek drops nothing else but further
    /// reports of the same batch.
    ///
    /// - Returns: the batch; nil if the message reports something else.
    mutating func pass(_ message: UnsafePointer<rd_kafka_message_t>) throws(KafkaError) -> UnreadableBatch? {
        guard message.pointee.err == RD_KAFKA_RESP_ERR__BAD_COMPRESSION, let partition = message.partition,
            message.pointee.offset >= 0
        else { return nil }
        let first = message.pointee.offset
        onPassing?(RecordPosition(partition, first))
        let last = try lastOffset(ofBatchAt: first, in: partition)
        do throws(KafkaError) {
            try seek(to: [partition: Offset(last + 1)], timeout: Self.longestSearch)
        } catch {
            // It may still be carried out, and then nothing reports the batch again; else it comes again at its offset,
            // which nobody takes twice.
            guard error.kind == .timedOut else { throw error }
        }
        let batch = UnreadableBatch(
            partition: partition, offsets: first...last,
            reason: rd_kafka_message_errstr(message).map { String(cString: $0) } ?? "")
        onPassing?(nil)
        tell(of: batch)
        return batch
    }

    private func tell(of batch: UnreadableBatch) {
        handle.callbacks.sink(
            ClientLog(
                level: .error, facility: UnreadableBatch.facility,
                client: String(cString: rd_kafka_name(handle.pointer)),
                message:
                    "\(batch.partition): offsets \(batch.offsets.lowerBound) to \(batch.offsets.upperBound) cannot be "
                    + "read and are passed: \(batch.reason)"))
    }

    /// Where to read a partition that is to be read from an offset: behind a batch of ``passes`` that begins there, in whose
    /// place a record is owed.
    mutating func start(of partition: TopicPartition, at offset: Int64) -> Int64 {
        guard let range = passes[partition]?.last(where: { $0.lowerBound == offset }) else { return offset }
        owed.append(
            UnreadableBatch(
                partition: partition, offsets: range, reason: "it took all memory, and somebody decided to pass it"))
        return range.upperBound + 1
    }

    /// Gives the records that are owed to a data queue.
    mutating func fillOwed(_ batch: inout RecordBatch, from number: Int) {
        for each in owed where queues.number(of: each.partition.topic) == number {
            tell(of: each)
            batch.append(each)
        }
        owed.removeAll { queues.number(of: $0.partition.topic) == number }
    }

    /// Finds the last offset of a batch that cannot be decompressed: librdkafka says the first one alone.
    ///
    /// A broker answers a fetch with the batch that holds the offset, so a fetch gives this batch exactly up to its last
    /// offset, whatever compaction has left in it. A second client asks, by doubling and halving: once for a batch of one
    /// record, at most some 60 times for one of 2^31.
    private func lastOffset(ofBatchAt first: Int64, in partition: TopicPartition) throws(KafkaError) -> Int64 {
        let deadline = ContinuousClock.now + Self.longestSearch
        var settings = handle.settings
        settings["group.id"] = "carillon-reader"
        settings["group.instance.id"] = nil
        settings["auto.offset.reset"] = "error"
        var probe = try Consumer(
            merged: settings, as: .reader, group: "", queuesOf: [], signal: nil, sink: handle.callbacks.sink)
        let ends = try probe.explaining { probe throws(KafkaError) in
            try probe.endOffsets([partition], timeout: deadline - .now)
        }
        var last = first
        // Beyond the batch. The broker gave all of it, so it ends before the last stable offset.
        var beyond = max(first + 1, ends[partition]?.value ?? 0)
        var step: Int64 = 1
        while beyond - last > 1 {
            let middle = last + min(step, (beyond - last) / 2)
            if try probe.isGiven(batchAt: first, for: middle, of: partition, deadline: deadline) {
                last = middle
                step *= 2
            } else {
                beyond = middle
            }
        }
        return last
    }

    /// Whether a fetch from an offset gives the unreadable batch that begins at `first`.
    private mutating func isGiven(
        batchAt first: Int64, for offset: Int64, of partition: TopicPartition, deadline: ContinuousClock.Instant
    ) throws(KafkaError) -> Bool {
        if assignment.isEmpty {
            try assign([partition: Offset(offset)])
        } else {
            try seek(to: [partition: Offset(offset)], timeout: deadline - .now)
        }
        while .now < deadline {
            guard let message = rd_kafka_consume_queue(queues.data[0].pointer, 100) else { continue }
            defer { rd_kafka_message_destroy(message) }
            switch message.pointee.err {
            case RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR__PARTITION_EOF: return false
            case RD_KAFKA_RESP_ERR__BAD_COMPRESSION: return message.pointee.offset == first
            case let code: throw handle.error(code, operation: "consume", partition: partition)
            }
        }
        throw handle.error(RD_KAFKA_RESP_ERR__TIMED_OUT, operation: "consume", partition: partition)
    }
}
