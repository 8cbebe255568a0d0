import KafkaClient

extension Consumer {
    /// Queries every topic once; see ``explaining(_:)``.
    ///
    /// - Returns: how many partitions each of them has.
    /// - Throws: one error that names all topics that are missing; the first other error.
    package mutating func partitionCounts(of topics: [String]) throws(KafkaError) -> [String: Int] {
        var partitions: [String: Int] = [:]
        var missing: [String] = []
        var lastMissing: KafkaError?
        for topic in topics {
            do throws(KafkaError) {
                partitions[topic] = try explaining { consumer throws(KafkaError) in
                    try consumer.partitionCount(of: topic, timeout: .seconds(3))
                }
            } catch {
                guard error.kind == .unknownTopicOrPartition else { throw error }
                missing.append(topic)
                lastMissing = error
            }
        }
        if var error = lastMissing {
            error.message =
                "no such topic: \(missing.joined(separator: ", ")); `carillon topics create` makes what is missing"
            error.partition = nil
            error.operation = ""
            throw error
        }
        return partitions
    }
}
