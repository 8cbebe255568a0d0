import KafkaClient
import Notifications

/// What became of pushes at their providers.
struct PushOutcomes {
    private let topic: String
    private var devices: Set<String> = []
    private var positions: Set<Coordinates> = []
    private var found: [Coordinates: DeliveryRecord] = [:]

    /// - Parameter topic: the dispatch topic, where the pushes are.
    init(of explanations: [Explanation], in topic: String) {
        self.topic = topic
        for push in explanations.flatMap(\.pushes) where !push.allPositions.isEmpty {
            devices.insert(push.device)
            positions.formUnion(push.allPositions)
        }
    }

    /// - Parameter pushes: the devices by the positions in that topic.
    init(of pushes: [Coordinates: String], in topic: String) {
        self.topic = topic
        devices = Set(pushes.values)
        positions = Set(pushes.keys)
    }

    /// The partitions of their outcomes: those of the dispatch topic with the same numbers.
    var partitions: Set<Int32> { Set(positions.map(\.partition)) }

    /// Whether an outcome with this key may be of one of them; cheaper than to parse its value.
    func wants(_ key: UnsafeRawBufferPointer?) -> Bool {
        key.map { devices.contains(String(decoding: $0, as: UTF8.self)) } ?? false
    }

    mutating func note(_ outcome: DeliveryRecord) {
        let position = Coordinates(partition: outcome.partition, offset: outcome.offset)
        if outcome.topic == topic, positions.contains(position) { found[position] = outcome }
    }

    var areComplete: Bool { found.count == positions.count }

    /// How many of the pushes have which outcome.
    var counts: [DeliveryOutcome: Int] { found.values.reduce(into: [:]) { $0[$1.outcome, default: 0] += 1 } }

    /// Call it when all outcomes were noted.
    func add(to explanations: inout [Explanation]) {
        for index in explanations.indices {
            for push in explanations[index].pushes.indices {
                let positions = explanations[index].pushes[push].allPositions
                explanations[index].pushes[push].outcomes = positions.reduce(into: [:]) { $0[$1] = found[$1] }
            }
        }
    }
}

extension ReplaySession {
    /// Adds what became of the pushes; a note says if that is not known.
    mutating func addOutcomes(to explanations: inout [Explanation]) throws {
        var outcomes = PushOutcomes(of: explanations, in: configuration.topics.dispatch)
        let partitions = outcomes.partitions
        guard !partitions.isEmpty else { return }
        let topic = configuration.topics.deliveries
        do {
            let ranges = try written(to: topic).range.filter { partitions.contains($0.key) }
            try log.readDeliveries(ranges, of: topic) { [outcomes] in
                outcomes.wants($0.key)
            } take: { outcome, _ in
                outcomes.note(outcome)
            } progress: {
                context.progress(.outcomes, $0, $1)
            }
        } catch let error as KafkaError where error.leavesOutcomesUnknown {
            input.notes.append("what became of the pushes at their providers is not known: \(error)")
            return
        }
        outcomes.add(to: &explanations)
    }
}

extension KafkaLog {
    /// What became of a device's pushes with a message id at its provider, by the position of the dispatch record.
    ///
    /// - Parameters:
    ///   - device: the SHA-256 of its token, in hex.
    ///   - topic: where the pushes were written.
    ///   - time: outcomes before it are not read; nil: all are.
    /// - Returns: nil if that is not known: there is no topic of outcomes, or it may not be read.
    package mutating func outcomes(
        of messageID: String, device: String, writtenTo topic: String, in deliveries: String, since time: WallTime?
    ) throws -> [Coordinates: DeliveryRecord]? {
        do {
            let bounds = try bounds(of: deliveries)
            let partition = Murmur2.partition(of: Array(device.utf8), count: Int32(bounds.count))
            let ranges = try range(of: deliveries, in: bounds.filter { $0.key == partition }, from: time)
            var found: [Coordinates: DeliveryRecord] = [:]
            try readDeliveries(ranges, of: deliveries) { record in
                record.key.map { $0.elementsEqual(device.utf8) } ?? false
            } take: { outcome, _ in
                guard outcome.topic == topic, outcome.messageID == messageID else { return }
                found[Coordinates(partition: outcome.partition, offset: outcome.offset)] = outcome
            } progress: { _, _ in
            }
            return found
        } catch let error as KafkaError where error.leavesOutcomesUnknown {
            return nil
        }
    }
}

extension KafkaError {
    /// `carillon deliver` is optional, and so are its topic and the permission to read it.
    var leavesOutcomesUnknown: Bool {
        switch kind {
        case .unknownTopicOrPartition, .authorization: true
        default: false
        }
    }
}
