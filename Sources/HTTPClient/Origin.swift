/// A server as addresses name it: the requests that wait for a connection to it, and its connections. One owner.
final class Origin {
    /// How long no connection is tried after one has failed, while there are others, in nanoseconds.
    private static let pause: UInt64 = 1_000_000_000
    /// An idle connection is not used any more after an hour, in nanoseconds.
    private static let longestIdle: UInt64 = 3_600_000_000_000

    let name: String
    private(set) var connections: [Connection] = []
    private var waiting: [Transfer] = []
    private var first = 0
    private var nextAttempt: UInt64 = 0
    private var lastUse: UInt64 = 0

    init(_ name: String) { self.name = name }

    func wait(_ transfer: Transfer) { waiting.append(transfer) }

    /// A connection on which a request may be sent now.
    var room: Connection? { connections.first { $0.hasRoom } }

    func takeFirst() -> Transfer? {
        guard first < waiting.count else { return nil }
        defer {
            first += 1
            if first == waiting.count {
                waiting.removeAll(keepingCapacity: true)
                first = 0
            }
        }
        return waiting[first]
    }

    /// Gives a transfer the next turn again: the one that was taken last.
    func putBack(_ transfer: Transfer) { waiting.insert(transfer, at: first) }

    var hasWaiting: Bool { first < waiting.count }

    /// Takes out those that wait.
    func takeWaiting(where isTaken: (Transfer) -> Bool = { _ in true }) -> [Transfer] {
        let taken = waiting[first...].filter(isTaken)
        waiting = waiting[first...].filter { !isTaken($0) }
        first = 0
        return taken
    }

    /// Whether one more connection is to be made: requests wait, and every stream is taken.
    func wantsConnection(limit: Int, now: UInt64) -> Bool {
        hasWaiting && now >= nextAttempt && connections.allSatisfy(\.isFull)
            && connections.count { $0.isOpen } < limit
    }

    func add(_ connection: Connection) { connections.append(connection) }

    /// - Returns: whether those that wait have no other connection.
    func remove(_ connection: Connection, now: UInt64) -> Bool {
        connections.removeAll { $0 === connection }
        let isAlone = !connections.contains { $0.isOpen }
        if !isAlone { nextAttempt = now + Self.pause }
        return isAlone
    }

    /// Ends connections that were not used for too long, right before they would be.
    func endIdle(now: UInt64) {
        defer { lastUse = now }
        guard now - lastUse > Self.longestIdle, lastUse > 0 else { return }
        for connection in connections where connection.active == 0 {
            connection.end(.connectionLost(sent: false, detail: "it was idle for too long"))
        }
    }
}
