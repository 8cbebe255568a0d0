import Hosting
import KafkaClient
import KafkaSimulation
import Telemetry

@testable import Streaming

/// Workers of one group that count records, at the simulated broker, by one seed; and what must be true afterwards.
///
/// `@unchecked Sendable`: only the thread with the baton touches it.
final class WorkerSimulation: @unchecked Sendable {
    private static let partitions: Int32 = 3
    private let kafka: SimulatedKafka
    private let role: SimulatedRole

    private var baton: Baton { kafka.baton }
    /// See ``Baton/trace``.
    var trace: UInt64 { baton.trace }

    init(seed: UInt64, sink: any LogSink) {
        let kafka = SimulatedKafka(seed: seed, topics: ["in": Self.partitions, "out": Self.partitions])
        self.kafka = kafka
        for number in 0..<Self.partitions {
            kafka.forget(kafka.baton.draw(0...3), of: .init(topic: "in", partition: number))
        }
        role = SimulatedRole(kafka) { slot, process, host, isStatic in
            var contract = Contract(
                group: "g", slot: Slot(instance: "a", number: slot), isStatic: isStatic, inputs: ["in"],
                outputs: ["out"], settings: [:], memberSettings: [:], transactionSettings: [:],
                transactionTimeout: .seconds(20), commitInterval: .milliseconds(100))
            contract.clients = process
            let logger = Logger(label: "worker \(slot)", sink: sink)
            var worker = try StreamWorker(contract, host, Metrics(), logger: logger) {
                CountingTenant($0, kafka.baton)
            }
            let result = Result { try worker.run() }
            worker.close()
            try result.get()
        }
    }

    /// - Returns: what was not true.
    func run() -> [String] {
        produce()
        role.run(for: .seconds(baton.draw(5...40))) { [self] in
            (0..<Self.partitions).allSatisfy { found($0).count >= expected($0).count }
        }
        return role.violations + wrong()
    }

    // MARK: What comes in

    private func produce() {
        var producers = 0
        let record = ProducerRecord(key: nil, value: [1])
        func next() {
            baton.after(baton.milliseconds(20...800)) { [self] in
                guard !role.isOver else { return }
                defer { next() }
                let partition = TopicPartition(topic: "in", partition: Int32(baton.draw(0...Int(Self.partitions) - 1)))
                guard baton.isOne(of: 4) else {
                    for _ in 0..<baton.draw(1...6) { kafka.append(record, to: partition) }
                    return
                }
                producers += 1
                let producer = producers
                for _ in 0..<baton.draw(1...4) { kafka.append(record, to: partition, by: producer) }
                let isCommit = !baton.isOne(of: 3)
                baton.after(baton.milliseconds(0...3_000)) { [self] in
                    kafka.mark(partition, of: producer, isCommit: isCommit)
                }
            }
        }
        next()
    }

    // MARK: What must be true

    private func expected(_ partition: Int32) -> [String] {
        guard let log = kafka.logs[TopicPartition(topic: "in", partition: partition)] else { return [] }
        let offsets = log.committedOffsets
        return offsets.enumerated().map { "\($1) \($0 + 1)" }
    }

    private func found(_ partition: Int32) -> [String] {
        let log = kafka.logs[TopicPartition(topic: "out", partition: partition)]
        return (log?.committed ?? []).map { String(decoding: $0.value ?? [], as: UTF8.self) }
    }

    private func wrong() -> [String] {
        var wrong: [String] = []
        for partition in 0..<Self.partitions {
            let (expected, found) = (expected(partition), found(partition))
            if let at = zip(expected, found).enumerated().first(where: { $1.0 != $1.1 }) {
                wrong.append(
                    "out/\(partition), record \(at.offset): \(at.element.1) instead of \(at.element.0), of \(found.count)"
                )
            } else if expected.count != found.count {
                wrong.append("out/\(partition) has \(found.count) records instead of \(expected.count)")
            }
            let id = TopicPartition(topic: "in", partition: partition)
            if let log = kafka.logs[id], let committed = kafka.offsets[id]?.offset.value {
                let last = log.committedOffsets.last ?? -1
                if committed <= Int64(last) { wrong.append("in/\(partition) is at \(committed), not behind \(last)") }
                if committed > log.entries.count {
                    wrong.append("in/\(partition) is at \(committed), behind the end")
                }
            }
        }
        return wrong
    }
}
