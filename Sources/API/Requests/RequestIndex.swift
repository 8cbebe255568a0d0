import Digests
import Synchronization
import Time

/// Where the requests of the last day are, by their ids: what this process has written, and what it has read since. Any thread.
///
/// It keeps two generations: a new one begins after a day, or when the newest is full, and then the oldest is forgotten.
package final class RequestIndex: Sendable {
    package struct Place: Equatable, Sendable {
        package var partition: Int32
        package var offset: Int64
        package var time: WallTime

        package init(partition: Int32, offset: Int64, time: WallTime) {
            (self.partition, self.offset, self.time) = (partition, offset, time)
        }
    }

    /// What became of a request that was given to be written.
    package enum Outcome: Equatable, Sendable {
        case recorded(Place)
        /// Certainly not.
        case notRecorded
        case unknown
    }

    package enum Claim: Equatable, Sendable {
        /// Nobody has it: whoever asked writes it, and then settles it.
        case new
        /// The same request is being written; its outcome is told.
        case underWay
        case recorded(Place)
        /// The id has another content.
        case other
    }

    package static let mostOfAGeneration = 500_000
    package static let generation: Int64 = 86_400_000

    private struct Known {
        var content: StoredHash
        var partition: Int32
        var offset: Int64
        var time: WallTime
    }

    private struct Open {
        var content: StoredHash
        var waiting: [@Sendable (Outcome) -> Void]
    }

    private struct State {
        var newest: [StoredHash: Known] = [:]
        var older: [StoredHash: Known] = [:]
        /// When the newest generation began.
        var began: WallTime?
        var open: [StoredHash: Open] = [:]
        var forgotten = 0
    }

    private let state = Mutex(State())
    private let most: Int

    package init(mostOfAGeneration most: Int = RequestIndex.mostOfAGeneration) {
        self.most = most
    }

    /// Asks for an id.
    ///
    /// - Parameter told: hears the outcome, if the claim is new or under way.
    package func claim(
        _ id: String, _ content: StoredHash, _ told: @escaping @Sendable (Outcome) -> Void
    ) -> Claim {
        let key = Self.key(id)
        return state.withLock { state in
            if let known = state.newest[key] ?? state.older[key] {
                return known.content == content ? .recorded(Self.place(known)) : .other
            }
            guard let open = state.open[key] else {
                state.open[key] = Open(content: content, waiting: [told])
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
            if case .recorded(let place) = outcome { add(key, open.content, place, at: now, to: &state) }
            return open.waiting
        }
        for told in waiting { told(outcome) }
    }

    /// A record of the topic. The first one of an id counts.
    package func take(_ id: String, _ content: StoredHash, _ place: Place, at now: WallTime) {
        state.withLock { add(Self.key(id), content, place, at: now, to: &$0) }
    }

    package func find(_ id: String) -> Place? {
        let key = Self.key(id)
        return state.withLock { state in (state.newest[key] ?? state.older[key]).map(Self.place) }
    }

    /// How many ids it has, and how many it has forgotten before they were a day old.
    package var counts: (known: Int, forgotten: Int) {
        state.withLock { ($0.newest.count + $0.older.count, $0.forgotten) }
    }

    private func add(
        _ key: StoredHash, _ content: StoredHash, _ place: Place, at now: WallTime, to state: inout State
    ) {
        guard state.newest[key] == nil, state.older[key] == nil else { return }
        let isOld = state.began.map { now - $0 >= Self.generation } ?? true
        if isOld || state.newest.count >= most {
            if !isOld { state.forgotten += state.older.count }
            state.older = state.newest
            state.newest = [:]
            state.began = now
        }
        state.newest[key] = Known(content: content, partition: place.partition, offset: place.offset, time: place.time)
    }

    private static func place(_ known: Known) -> Place {
        Place(partition: known.partition, offset: known.offset, time: known.time)
    }

    private static func key(_ id: String) -> StoredHash {
        var id = id
        return id.withUTF8 { StoredHash(of: UnsafeRawBufferPointer($0)) }
    }
}
