import Glibc
import Synchronization

/// The connections of a server: which of them are closed because they take too long, or because there are too many. Any thread.
///
/// Nobody is refused: whoever is slow makes room for the next one. So a probe has its answer while others hang on, also one
/// from the same address.
final class OpenConnections: Sendable {
    struct Connection {
        /// Of its socket; the server closes it after ``ended(_:)`` only.
        let descriptor: Int32
        /// Of the other side, without the port.
        let address: [UInt8]
        /// When it was opened, or when the head of its request or the end of its last answer was there.
        var since: ContinuousClock.Instant
        /// Whether the head of its request is there, and not the whole answer.
        var isAnswered = false
    }

    /// At most so many at a time; of these at most so many from one address.
    static let most = 64
    static let mostFromOneAddress = 16
    /// How long a connection may take for the whole head of its next request.
    static let headTime = Duration.seconds(5)
    /// How long it may then take to read the answer.
    static let answerTime = Duration.seconds(30)

    /// Those that were not told to end.
    private let connections = Mutex<[Connection]>([])

    /// A connection was accepted. Makes room for it.
    func opened(_ descriptor: Int32, from address: [UInt8], at now: ContinuousClock.Instant = .now) {
        connections.withLock { connections in
            let fromThere = connections.indices.filter { connections[$0].address == address }
            if fromThere.count >= Self.mostFromOneAddress {
                Self.end(Self.slowest(fromThere, of: connections), of: &connections)
            } else if connections.count >= Self.most {
                Self.end(Self.slowest(Array(connections.indices), of: connections), of: &connections)
            }
            connections.append(Connection(descriptor: descriptor, address: address, since: now))
        }
    }

    /// The head of a request is there.
    func began(_ descriptor: Int32, at now: ContinuousClock.Instant = .now) {
        change(descriptor, isAnswered: true, now)
    }

    /// The answer was given to the system.
    func answered(_ descriptor: Int32, at now: ContinuousClock.Instant = .now) {
        change(descriptor, isAnswered: false, now)
    }

    /// A connection ends, and its socket is closed next.
    func ended(_ descriptor: Int32) {
        connections.withLock { connections in connections.removeAll { $0.descriptor == descriptor } }
    }

    /// Ends those that have taken too long.
    func endLate(at now: ContinuousClock.Instant = .now) {
        connections.withLock { connections in
            for index in connections.indices.reversed() {
                let connection = connections[index]
                let limit = connection.isAnswered ? Self.answerTime : Self.headTime
                if now - connection.since > limit { Self.end(index, of: &connections) }
            }
        }
    }

    var count: Int { connections.withLock { $0.count } }

    private func change(_ descriptor: Int32, isAnswered: Bool, _ now: ContinuousClock.Instant) {
        connections.withLock { connections in
            guard let index = connections.firstIndex(where: { $0.descriptor == descriptor }) else { return }
            connections[index].isAnswered = isAnswered
            connections[index].since = now
        }
    }

    /// Whoever has waited longest without a whole request; else the one that has been answered for the longest time.
    private static func slowest(_ indices: [Int], of connections: [Connection]) -> Int? {
        indices.min { left, right in
            let (left, right) = (connections[left], connections[right])
            return left.isAnswered == right.isAnswered ? left.since < right.since : right.isAnswered
        }
    }

    /// The server finds the socket at its end, and closes it.
    private static func end(_ index: Int?, of connections: inout [Connection]) {
        guard let index else { return }
        shutdown(connections.remove(at: index).descriptor, Int32(SHUT_RDWR))
    }
}
