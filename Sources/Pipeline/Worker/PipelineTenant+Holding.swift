import KafkaClient
import Streaming

/// A worker's part in what ADR 56 decides.
extension PipelineTenant {
    var reader: Holding.Reader { .worker(slot.number) }

    mutating func memberSettings(_ usual: Settings) -> Settings {
        // An assignment's turn ends with it, and comes again.
        let needsCare =
            isCareful == nil
            ? context.holds.needsCare(context.sources.map(context.configuration.topics.topic))
            : hadTurn
        isCareful = needsCare
        return needsCare ? usual.merging(ClientSettings.oneBatchAtATime) { $1 } : usual
    }

    /// How far the worker is in each partition that it reads.
    private var progress: [TopicPartition: Holding.Progress] {
        var progress: [TopicPartition: Holding.Progress] = [:]
        for partition in positions.owned {
            guard let position = positions[partition] else { continue }
            progress[context.configuration.topics.topicPartition(of: partition)] =
                position.isFolding
                ? Holding.Progress(offset: position.folded, reached: position.folded)
                : Holding.Progress(offset: position.next, reached: position.reached)
        }
        return progress
    }

    /// Notes that the process has taken more memory while this worker only waited, before it waits again.
    mutating func willRead() {
        guard !isWaiting else { return }
        isWaiting = true
        #if DEBUG
            if let position = FaultBomb.position, progress[position.partition]?.offset == position.offset {
                context.holds.grew(reader, progress.mapValues(\.offset))
                FaultBomb.explode()
            }
        #endif
        if growth.isEvident {
            context.holds.grew(reader, progress.mapValues(\.offset))
        } else if hasNotedGrowth {
            context.holds.arrived(reader)
        }
        hasNotedGrowth = growth.isEvident
        growth.waits(at: ProcessMemory.anonymous())
    }

    mutating func didRead(_ bytes: Int) {
        growth.ended(at: ProcessMemory.anonymous(), received: bytes)
        isWaiting = false
        readSinceHolds += bytes
    }

    /// - Returns: false where the partitions that may be read have changed.
    mutating func considerHolds() throws -> Bool {
        guard context.holds.isActive || isCareful == true, transactions.open == nil, hasPartitions else {
            return true
        }
        let mustBegin = context.holds.reached(reader, progress, bytes: readSinceHolds, isReading: isTableReady)
        readSinceHolds = 0
        let mustReplace = isCareful == true && context.holds.current == nil
        guard mustBegin || mustReplace else { return true }
        saveStates(isLast: true)
        if mustReplace { throw KafkaError.carefulConsumer }
        return false
    }
}

extension KafkaError {
    /// It fetches batch by batch, which is slow, and no partition has a turn any more.
    fileprivate static var carefulConsumer: KafkaError {
        KafkaError(
            kind: .other, recovery: .recreateClient, of: .member, name: "",
            message: "partitions were read one after another", operation: "consume")
    }
}
