import Digests
import Synchronization
import Time

/// Where the requests of the last day are, by their ids: what this process has written, and what it has read since. Any thread.
///
/// It keeps two generations: a new one begins after a day, or when the newest is full, and then the oldest is forgotten.
/// Beside the ids it has whom a request is for, since not every key may hear of it.
package final class RequestIndex: Sendable {
    package struct RecordMetadata: Equatable, Sendable {
        package var partition: Int32
        package var offset: Int64
        package var time: WallTime

        package init(partition: Int32, offset: Int64, time: WallTime) {
            (self.partition, self.offset, self.time) = (partition, offset, time)
        }
    }

    /// What became of a request that was given to be written.
    package enum Outcome: Equatable, Sendable {
        case recorded(RecordMetadata)
        /// Certainly not.
        case notRecorded
        case unknown
    }

    package enum Claim: Equatable, Sendable {
        /// Nobody has it: whoever asked writes it, and then settles it.
        case new
        /// The same request is being written; its outcome is told.
        case underWay
        case recorded(RecordMetadata)
        /// The id has another content.
        case other
    }

    package static let mostOfAGeneration = 500_000
    /// Of the audiences of a generation's requests.
    package static let mostBytesOfAGeneration = 32 << 20
    /// Of one request's; with more it is nobody's but an unbounded key's.
    private static let mostBytesOfARequest = 64 << 10
    package static let generation: Int64 = 86_400_000

    private struct Known {
        var content: StoredHash
        /// One in each line, since none has a control character; empty: not known.
        var audiences: String
        var partition: Int32
        var offset: Int64
        var time: WallTime
    }

    private struct Open {
        var content: StoredHash
        var audiences: [String]
        var waiting: [@Sendable (Outcome) -> Void]
    }

    private struct State {
        var newest: [StoredHash: Known] = [:]
        var older: [StoredHash: Known] = [:]
        /// Of the newest generation's audiences.
        var bytes = 0
        /// When the newest generation began.
        var began: WallTime?
        var open: [StoredHash: Open] = [:]
        var forgotten = 0
    }

    private let state = Mutex(State())
    private let most: (ids: Int, bytes: Int)

    package init(
        mostOfAGeneration ids: Int = RequestIndex.mostOfAGeneration, bytes: Int = RequestIndex.mostBytesOfAGeneration
    ) {
        most = (ids, bytes)
    }

    /// Asks for an id.
    ///
    /// - Parameter told: hears the outcome, if the claim is new or under way.
    package func claim(
        _ id: String, _ content: StoredHash, for audiences: [String], _ told: @escaping @Sendable (Outcome) -> Void
    ) -> Claim {
        let key = Self.key(id)
        return state.withLock { state in
            if let known = state.newest[key] ?? state.older[key] {
                return known.content == content ? .recorded(Self.metadata(known)) : .other
            }
            guard let open = state.open[key] else {
                state.open[key] = Open(content: content, audiences: audiences, waiting: [told])
                return .new
            }
            guard open.content == content else { return .other }
            state.open[key]?.waiting.append(told)
            return .underWay
        }
    }

    /// Says what became of a new claim.
    package func settle(_ id: String, _ outcome: Outcome, at now: WallTime) {
        let key = Self.key(id)
        let waiting = state.withLock { state -> [@Sendable (Outcome) -> Void] in
            guard let open = state.open.removeValue(forKey: key) else { return [] }
            if case .recorded(let metadata) = outcome {
                add(key, open.content, open.audiences, metadata, at: now, to: &state)
            }
            return open.waiting
        }
        for told in waiting { told(outcome) }
    }

    /// A record of the topic. The first one of an id counts, as in the pipeline: of a partition that with the lower offset.
    package func take(
        _ id: String, _ content: StoredHash, for audiences: [String], _ metadata: RecordMetadata, at now: WallTime
    ) {
        state.withLock { add(Self.key(id), content, audiences, metadata, at: now, to: &$0) }
    }

    /// - Parameter reader: who asks: a key for some audiences finds what is for no others.
    package func find(_ id: String, for reader: KeyEntry?) -> RecordMetadata? {
        let key = Self.key(id)
        let known = state.withLock { state in state.newest[key] ?? state.older[key] }
        guard let known else { return nil }
        let names = known.audiences.split(separator: "\n").map { String($0) }
        return reader?.permits(audiences: names) ?? true ? Self.metadata(known) : nil
    }

    /// How many ids it has, and how many it has forgotten before they were a day old.
    package var counts: (known: Int, forgotten: Int) {
        state.withLock { ($0.newest.count + $0.older.count, $0.forgotten) }
    }

    private func add(
        _ key: StoredHash, _ content: StoredHash, _ audiences: [String], _ metadata: RecordMetadata, at now: WallTime,
        to state: inout State
    ) {
        let other = state.newest[key] ?? state.older[key]
        if let other, other.partition != metadata.partition || other.offset <= metadata.offset { return }
        let size = audiences.reduce(0) { $0 + $1.utf8.count + 1 }
        let names = size > Self.mostBytesOfARequest ? "" : audiences.joined(separator: "\n")
        let known = Known(
            content: content, audiences: names, partition: metadata.partition, offset: metadata.offset,
            time: metadata.time)
        guard other == nil else {
            if state.older[key] == nil {
                state.bytes += names.utf8.count - (state.newest[key]?.audiences.utf8.count ?? 0)
                state.newest[key] = known
            } else {
                state.older[key] = known
            }
            return
        }
        let isOld = state.began.map { now - $0 >= Self.generation } ?? true
        if isOld || state.newest.count >= most.ids || state.bytes >= most.bytes {
            if !isOld { state.forgotten += state.older.count }
            state.older = state.newest
            state.newest = [:]
            state.bytes = 0
            state.began = now
        }
        state.bytes += names.utf8.count
        state.newest[key] = known
    }

    private static func metadata(_ known: Known) -> RecordMetadata {
        RecordMetadata(partition: known.partition, offset: known.offset, time: known.time)
    }

    private static func key(_ id: String) -> StoredHash {
        var id = id
        return id.withUTF8 { StoredHash(of: UnsafeRawBufferPointer($0)) }
    }
}
