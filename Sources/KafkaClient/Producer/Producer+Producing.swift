import CRDKafka

extension Producer {
    /// How long to wait for room in a full queue. Its records time out earlier, at the transaction timeout.
    private static var fullQueueTimeout: Duration { .seconds(60) }

    /// Queues a record; librdkafka copies the bytes. If the queue is full, serves delivery reports and waits for up to
    /// a minute.
    ///
    /// Allocates nothing here; librdkafka does, per record and per header. A header costs 0.18 µs.
    /// - Parameters:
    ///   - value: nil is a tombstone.
    ///   - partition: an existing one; nil: by murmur2 of the key, at random without a key.
    ///   - timestamp: nil: now.
    ///   - tag: is returned in a ``DeliveryFailure``.
    /// - Throws: `.messageTooLarge` (for this record), `.queueFull`, or the error that the transaction or the client is
    ///   in.
    package mutating func produce(
        to topic: ProducerTopic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<HeaderView> = UnsafeBufferPointer(start: nil, count: 0), partition: Int32? = nil,
        timestamp: WallTime? = nil, tag: UInt64 = 0
    ) throws(KafkaError) {
        guard topic.producer == topics.producer else {
            throw .configuration("\(topic.name) is a topic of another producer", operation: "produce")
        }
        if let partition, partition < 0 || partition >= topic.partitionCount {
            // librdkafka 2.0.2 would hold it for a partition that may never exist, or crash on its headers
            // (docs/kafka.md 13).
            throw handle.error(
                RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, operation: "produce",
                partition: TopicPartition(topic: topic.name, partition: partition))
        }
        let list = headers.isEmpty ? nil : makeHeaders(headers)
        var code = enqueue(topic, key, value, list, partition, timestamp, tag)
        if code == RD_KAFKA_RESP_ERR__QUEUE_FULL {
            let deadline = ContinuousClock.now + Self.fullQueueTimeout
            while code == RD_KAFKA_RESP_ERR__QUEUE_FULL, .now < deadline {
                rd_kafka_poll(handle.pointer, 5)
                code = enqueue(topic, key, value, list, partition, timestamp, tag)
            }
        }
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            if let list { rd_kafka_headers_destroy(list) }
            throw produceError(code, topic, partition)
        }
    }

    /// Produces a record that owns its bytes. Allocates: not for the hot path.
    public mutating func produce(_ record: ProducerRecord, to topic: ProducerTopic, tag: UInt64 = 0) throws(KafkaError)
    {
        // One buffer for the names and values of all headers, so that the addresses in the views stay valid.
        let bytes = record.headers.flatMap { Array($0.name.utf8) + ($0.value ?? []) }
        let failure = bytes.withUnsafeBytes { bytes -> KafkaError? in
            var rest = bytes[...]
            func take(_ count: Int) -> UnsafeRawBufferPointer {
                defer { rest = rest.dropFirst(count) }
                return UnsafeRawBufferPointer(rebasing: rest.prefix(count))
            }
            let views = record.headers.map { header in
                HeaderView(name: take(header.name.utf8.count), value: header.value.map { take($0.count) })
            }
            return views.withUnsafeBufferPointer { views in
                record.key.withOptionalBytes { key in
                    record.value.withOptionalBytes { value in
                        do throws(KafkaError) {
                            try produce(
                                to: topic, key: key, value: value, headers: views, partition: record.partition,
                                timestamp: record.timestamp, tag: tag)
                            return nil
                        } catch {
                            return error
                        }
                    }
                }
            }
        }
        if let failure { throw failure }
    }

    private func enqueue(
        _ topic: ProducerTopic, _ key: UnsafeRawBufferPointer?, _ value: UnsafeRawBufferPointer?,
        _ headers: OpaquePointer?, _ partition: Int32?, _ timestamp: WallTime?, _ tag: UInt64
    ) -> rd_kafka_resp_err_t {
        carillon_produce(
            handle.pointer, topics.pointers[topic.index], partition ?? RD_KAFKA_PARTITION_UA, key?.baseAddress,
            key?.count ?? -1, value?.baseAddress, value?.count ?? -1, headers, timestamp?.milliseconds ?? -1,
            UnsafeMutableRawPointer(bitPattern: UInt(tag)))
    }

    /// One list per record, of which librdkafka takes ownership: single headers (`VTYPE_HEADER`) crash on an unknown
    /// partition (docs/kafka.md 13).
    private func makeHeaders(_ headers: UnsafeBufferPointer<HeaderView>) -> OpaquePointer? {
        let list = rd_kafka_headers_new(headers.count)
        for header in headers {
            // A null value has no address; an empty one needs an address, at a length of 0.
            _ = rd_kafka_header_add(
                list, header.name.baseAddress, header.name.count,
                header.value.map { $0.baseAddress ?? header.name.baseAddress } ?? nil, header.value?.count ?? 0)
        }
        return list
    }

    private func produceError(_ code: rd_kafka_resp_err_t, _ topic: ProducerTopic, _ partition: Int32?) -> KafkaError {
        var error = handle.error(code, operation: "produce to \(topic.name)")
        error.topics = [topic.name]
        if let fatal = fatalError { return fatal }
        if error.kind == .state, isTransactional {
            // After an abortable error, which may be about another topic, librdkafka refuses all records of the
            // transaction. In this state a commit does nothing but return that error.
            if let object = rd_kafka_commit_transaction(handle.pointer, 1_000) {
                error = handle.error(consuming: object, operation: "transaction")
            }
            error.recovery = .abortTransaction
        } else if error.kind == .messageTooLarge, !isTransactional {
            error.recovery = .giveUp
        }
        return error
    }
}

extension [UInt8]? {
    fileprivate func withOptionalBytes<Result>(_ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        guard let self else { return body(nil) }
        return self.withUnsafeBytes(body)
    }
}
