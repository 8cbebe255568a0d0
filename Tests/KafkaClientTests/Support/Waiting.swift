import Testing

@testable import KafkaClient

/// Calls `body` until it returns a value; records a failure at the deadline.
func eventually<Value: Sendable>(
    _ what: String, within timeout: Duration = .seconds(30), sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Value?
) throws -> Value {
    let deadline = ContinuousClock.now + timeout
    while .now < deadline {
        if let value = try body() { return value }
    }
    Issue.record("not within \(timeout): \(what)", sourceLocation: sourceLocation)
    throw KafkaError(kind: .timedOut, recovery: .giveUp, name: "", message: what)
}

extension Settings {
    /// Settings that make the mock cluster quick: it sleeps through an empty fetch, and a session shorter than 3 s never
    /// joins. A rebalance takes a second less than a session.
    static func mock(_ cluster: MockCluster) -> Settings {
        ["bootstrap.servers": cluster.bootstrapServers, "fetch.wait.max.ms": "10", "session.timeout.ms": "12000"]
    }
}

extension Consumer {
    /// Reads until `count` records have arrived.
    mutating func records(_ count: Int, within timeout: Duration = .seconds(20)) throws -> [ConsumerRecord] {
        var records: [ConsumerRecord] = []
        let deadline = ContinuousClock.now + timeout
        while records.count < count, .now < deadline {
            let read = read(limit: count - records.count, timeout: .milliseconds(100))
            if let error = read.errors.first { throw error }
            records += read.records
            _ = nextEvent(timeout: .zero)
        }
        try #require(records.count == count)
        return records
    }

    /// Waits for the group's assignment and answers it with this position; nil: nothing is read yet.
    mutating func join(_ topics: [String], at position: Offset? = Offset(0)) throws -> [TopicPartition] {
        try subscribe(to: topics)
        let deadline = ContinuousClock.now + .seconds(30)
        while .now < deadline {
            guard case .assign(let partitions) = nextEvent(timeout: .milliseconds(100)), !partitions.isEmpty else {
                continue
            }
            try assign(partitions, at: position)
            return partitions
        }
        throw KafkaError(kind: .timedOut, recovery: .giveUp, name: "", message: "no assignment")
    }

    /// Answers an assignment: reads all of it from one position; nil: nothing is read yet.
    mutating func assign(_ partitions: [TopicPartition], at position: Offset?) throws {
        try assign(position.map { at in Dictionary(uniqueKeysWithValues: partitions.map { ($0, at) }) } ?? [:])
    }
}

extension String {
    var bytes: [UInt8] { Array(utf8) }
}

extension [UInt8]? {
    var text: String? { map { String(decoding: $0, as: UTF8.self) } }
}
