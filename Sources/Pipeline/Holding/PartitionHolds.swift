import Foundation
import KafkaClient
import Synchronization

/// The positions at which a process holds its partitions, for commands.
package enum HeldPositions {
    /// - Parameter folder: the process's state folder.
    package static func of(_ folder: String) -> [RecordPosition] {
        let text = (try? String(contentsOfFile: PartitionHolds.path(in: folder), encoding: .utf8)) ?? ""
        return MemoryNotes(text).notes.filter { $0.value.deaths >= MemoryNotes.untilHeld }.keys.sorted()
    }
}

/// The ``Holding`` of a process, with its files in the state folder. Any thread.
///
/// Where nothing is remembered, ``isActive`` is false, and nobody has to ask.
final class PartitionHolds: Sendable {
    private struct State {
        var holding = Holding()
        var path: String?
        var written = ""
        /// The records behind each held partition of the subscriptions, once they were asked for.
        var behind: [TopicPartition: Int64] = [:]
    }

    private let state = Mutex(State())
    private let active = Atomic<Bool>(false)
    private let explained = Atomic<Bool>(false)

    /// Notes where processes ended; a line for each position.
    static func path(in folder: String) -> String { folder + "/memory" }

    /// Whether a reader has to ask.
    var isActive: Bool { active.load(ordering: .acquiring) }

    /// Whether the process before this one ended for lack of memory, which explains a store that was not closed.
    var explainsEnd: Bool { explained.load(ordering: .acquiring) }

    /// Reads what the folder remembers, and counts the end of the process before this one.
    func open(in folder: String) {
        let path = Self.path(in: folder)
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        change { state in
            state.holding = Holding(MemoryNotes(text), PassedBatches(in: folder))
            state.path = path
            state.written = text
            explained.store(state.holding.start(), ordering: .releasing)
        }
    }

    /// The process ends in order.
    func close() { change { $0.holding.end() } }

    func enter(_ reader: Holding.Reader, _ partitions: [TopicPartition]) -> Set<TopicPartition> {
        change { $0.holding.enter(reader, partitions, now: .now) }
    }

    /// Logs the partitions that are held from now on.
    func take(
        _ reader: Holding.Reader, _ starts: [TopicPartition: Int64], ends: [TopicPartition: Int64], _ logger: Logger
    ) -> Bool {
        let before = held
        let isRight = change { $0.holding.take(reader, starts, ends: ends, now: .now) }
        for (partition, offset) in held.sorted(by: { $0.key < $1.key }) where before[partition] == nil {
            let position = "\(RecordPosition(partition, offset))"
            logger.error("\(Readiness.Reason.held(position, recordsBehind: nil))")
        }
        return isRight
    }

    func leave(_ reader: Holding.Reader) { change { $0.holding.leave(reader) } }

    func reached(
        _ reader: Holding.Reader, _ progress: [TopicPartition: Holding.Progress], bytes: Int, isReading: Bool
    ) -> Bool {
        change { $0.holding.reached(reader, progress, bytes: bytes, isReading: isReading, now: .now) }
    }

    func grew(_ reader: Holding.Reader, _ offsets: [TopicPartition: Int64]) {
        change { $0.holding.grew(reader, offsets) }
    }

    func arrived(_ reader: Holding.Reader) { change { $0.holding.arrived(reader) } }

    /// Whether processes have ended in a partition for lack of memory: nothing beside its reader should read there.
    func isSuspect(_ partition: TopicPartition) -> Bool {
        state.withLock { $0.holding.notes.deaths(in: partition, from: 0) > 0 }
    }

    /// Whether a reader of these topics must fetch no more than a batch at once, so that it is certain which one it was.
    func needsCare(_ topics: [String]) -> Bool {
        state.withLock { state in
            state.holding.notes.notes.contains {
                topics.contains($0.key.partition.topic) && $0.value.deaths >= MemoryNotes.untilTurns
            }
        }
    }

    /// The partition that alone is read now.
    var current: TopicPartition? { state.withLock { $0.holding.current } }

    /// The partitions that are held, each with its offset.
    var held: [TopicPartition: Int64] { state.withLock { $0.holding.held } }

    var passed: PassedBatches { state.withLock { $0.holding.passed } }

    func setBehind(_ records: Int64, _ partition: TopicPartition) { state.withLock { $0.behind[partition] = records } }

    var reasons: [Readiness.Reason] {
        guard isActive else { return [] }
        return state.withLock { state in
            let held = state.holding.held.sorted { $0.key < $1.key }.map { partition, offset in
                Readiness.Reason.held(
                    "\(RecordPosition(partition, offset))", recordsBehind: state.behind[partition].map { Int($0) })
            }
            return held + (state.holding.current.map { [.readAlone("\($0)")] } ?? [])
        }
    }

    /// What cannot be written is only forgotten, and the next start counts one less.
    @discardableResult
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            let result = body(&state)
            active.store(state.holding.isActive, ordering: .releasing)
            let text = state.holding.notes.text
            if let path = state.path, text != state.written {
                try? Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
                state.written = text
            }
            return result
        }
    }
}
