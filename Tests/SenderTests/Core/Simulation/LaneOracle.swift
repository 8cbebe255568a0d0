import KafkaClient
import KafkaSimulation
import Notifications
import Pipeline

@testable import Sender

/// What must be true of the topics when a simulation is over.
struct LaneOracle {
    private let simulation: LaneSimulation
    private let topics: PipelineConfiguration
    /// Retries that nothing but the window's size can have made.
    private(set) var needless = 0
    private(set) var problems: [String]
    private(set) var outcomes: [DeliveryRecord] = []
    /// Records of retry topics that have committed.
    private(set) var hops = 0

    private var kafka: SimulatedKafka { simulation.kafka }
    var possiblyTwice: Int { simulation.watches.reduce(0) { $0 + $1.possiblyTwice } }
    var sentTwice: Int { simulation.provider.accepted.values.reduce(0) { $0 + $1 - 1 } }

    init(_ simulation: LaneSimulation) {
        self.simulation = simulation
        topics = simulation.configuration
        problems = simulation.problems + simulation.ends.problems
        checkOutcomes()
        checkOffsets()
        if sentTwice > possiblyTwice {
            problems.append("\(sentTwice) were sent twice, at most \(possiblyTwice) were said")
        }
    }

    // MARK: Outcomes

    private mutating func checkOutcomes() {
        for id in simulation.ends.ends.keys where simulation.pushes[id] == nil {
            problems.append("\(id) is no push of this lane, and has an outcome")
        }
        for push in simulation.pushes.values {
            let ends = simulation.ends.committed(push.id, kafka, topics)
            if ends.count != (simulation.isCommitted(push) ? 1 : 0) {
                problems.append("\(push.id) has \(ends.count) outcomes")
            }
            for end in ends { check(end.record, of: push) }
        }
    }

    private mutating func check(_ end: DeliveryRecord, of push: LaneSimulation.Push) {
        outcomes.append(end)
        let provider = simulation.provider
        let isTrue =
            switch end.outcome {
            case .accepted: provider.accepted[push.id] != nil
            case .deadDevice: provider.dead.contains(push.id)
            case .refused: provider.refused.contains(push.id)
            case .expired: end.attempts == 0
            case .gaveUp: end.attempts == 0 || end.reason != nil
            case .cancelled:
                push.broadcast.map { simulation.broadcasts[$0].endedAt != nil } ?? false
                    || simulation.isCancelled(push, for: 0)
            case .superseded: hasNewer(push)
            }
        if !isTrue { problems.append("\(push.id) has the outcome \(end.outcome), and that is not so") }
    }

    /// Whether there is a newer push of the device with the same collapse key.
    private func hasNewer(_ push: LaneSimulation.Push) -> Bool {
        simulation.line(of: push).contains {
            $0.id.source > push.id.source && $0.collapse == push.collapse && simulation.isCommitted($0)
        }
    }

    // MARK: Offsets

    /// What each transaction has finished, by its outcomes and retries, and what it says of that in its offsets.
    private mutating func checkOffsets() {
        var copies: [LaneSimulation.ID: LaneWatch.Copy] = [:]
        var open: [TopicPartition: Set<Int64>] = [:]
        var finished: [TopicPartition: Set<Int64>] = [:]
        for push in simulation.pushes.values where simulation.isCommitted(push) {
            let copy = LaneWatch.Copy(
                stream: .dispatch(push.id.kind), partition: push.id.partition, offset: push.id.source)
            copies[push.id] = copy
            open[topicPartition(copy), default: []].insert(copy.offset)
        }
        let written = written()
        for commit in kafka.commits {
            for (id, next) in written[commit.transaction] ?? [] {
                guard let copy = copies.removeValue(forKey: id) else {
                    problems.append("\(id) is finished twice")
                    continue
                }
                open[topicPartition(copy)]?.remove(copy.offset)
                finished[topicPartition(copy), default: []].insert(copy.offset)
                guard let next else { continue }
                hops += 1
                copies[id] = next
                open[topicPartition(next), default: []].insert(next.offset)
            }
            for (topicPartition, committed) in commit.after {
                guard let offset = LaneOffset(offset: committed.offset.value, metadata: committed.metadata),
                    offset.partitions == simulation.size.partitions,
                    offset.offset >= commit.before[topicPartition]?.offset.value ?? 0
                else {
                    problems.append(
                        "\(topicPartition) was committed as \(committed) after \(commit.before[topicPartition] as Any)")
                    continue
                }
                if let lost = open[topicPartition]?.first(where: offset.isFinished) {
                    problems.append("\(topicPartition), \(lost) counts as finished, and is not")
                }
                if let again = finished[topicPartition]?.first(where: { !offset.isFinished($0) }) {
                    problems.append("\(topicPartition), \(again) does not count as finished, and is")
                }
                finished[topicPartition] = finished[topicPartition]?.filter { $0 >= offset.offset }
            }
        }
    }

    /// By transaction: what it has finished, and where that is now; nil: it has an outcome.
    private mutating func written() -> [Int: [(LaneSimulation.ID, LaneWatch.Copy?)]] {
        var written: [Int: [(LaneSimulation.ID, LaneWatch.Copy?)]] = [:]
        for (id, ends) in simulation.ends.ends {
            for end in ends { written[end.transaction, default: []].append((id, nil)) }
        }
        for stream in LaneStream.all(of: PushKind.allCases, tiers: topics.delivery.retries.count)
        where stream.tier != nil {
            for partition in 0..<simulation.size.partitions {
                let topicPartition = topicPartition(LaneWatch.Copy(stream: stream, partition: partition, offset: 0))
                for (offset, entry) in (kafka.logs[topicPartition]?.entries ?? []).enumerated() {
                    guard let header = entry.record?.headers.last(where: { $0.name == "\(RetryNote.header)" }),
                        let note = RetryNote(String(decoding: header.value ?? [], as: UTF8.self))
                    else { continue }
                    if note.reason == nil { needless += 1 }
                    written[entry.transaction, default: []].append(
                        (
                            .init(kind: stream.kind, partition: partition, source: note.offset),
                            .init(stream: stream, partition: partition, offset: Int64(offset))
                        ))
                }
            }
        }
        return written
    }

    private func topicPartition(_ copy: LaneWatch.Copy) -> TopicPartition {
        simulation.topicPartition(copy.stream, copy.partition)
    }
}
