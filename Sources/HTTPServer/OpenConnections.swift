import Glibc
import Synchronization

/// The connections of a server: which of them are closed because they take too long, or because there are too many. Any thread.
///
/// Nobody is refused: whoever is slow makes room for the next one. So a probe has its answer while others hang on, also one
/// from the same address.
final class OpenConnections: Sendable {
    /// What is waited for.
    enum Phase {
        /// The rest of a request's head.
        case head
        /// A further request.
        case idle
        case body
        /// Whoever has the exchange, until then.
        case reply(HTTPExchange, until: ContinuousClock.Instant)
        /// The client, which reads the answer.
        case answer
    }

    private struct Connection {
        let address: ClientAddress
        var phase = Phase.head
        /// When the phase began.
        var since: ContinuousClock.Instant

        mutating func enter(_ phase: Phase, at now: ContinuousClock.Instant) {
            (self.phase, since) = (phase, now)
        }

        var isWholeRequest: Bool {
            switch phase {
            case .head, .idle, .body: false
            case .reply, .answer: true
            }
        }
    }

    private struct State {
        /// Those that were not told to end, by the descriptors of their sockets. The server closes one after ``ended(_:)`` only.
        var connections: [Int32: Connection] = [:]
        var isClosed = false
    }

    private let limits: HTTPLimits
    private let state = Mutex(State())

    init(_ limits: HTTPLimits) {
        self.limits = limits
    }

    /// A connection was accepted. Makes room for it.
    func opened(_ descriptor: Int32, from address: ClientAddress, at now: ContinuousClock.Instant = .now) {
        let waiting = state.withLock { state -> HTTPExchange? in
            var waiting: HTTPExchange?
            let fromThere = state.connections.filter { $0.value.address == address }
            if fromThere.count >= limits.connectionsOfAnAddress {
                waiting = Self.end(Self.slowest(fromThere), of: &state)
            } else if state.connections.count >= limits.connections {
                waiting = Self.end(Self.slowest(state.connections), of: &state)
            }
            state.connections[descriptor] = Connection(address: address, since: now)
            return waiting
        }
        waiting?.abandon()
    }

    /// The line of a request is there.
    func began(_ descriptor: Int32, at now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            // The first request has its time since the accept.
            guard case .idle? = state.connections[descriptor]?.phase else { return }
            state.connections[descriptor]?.enter(.head, at: now)
        }
    }

    func enter(_ phase: Phase, _ descriptor: Int32, at now: ContinuousClock.Instant = .now) {
        state.withLock { state in state.connections[descriptor]?.enter(phase, at: now) }
    }

    /// - Returns: false if nothing waits any more: the server ends, or the connection was told to.
    func wait(
        for exchange: HTTPExchange, _ descriptor: Int32, atMost time: Duration, at now: ContinuousClock.Instant = .now
    ) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            return state.connections[descriptor]?.enter(.reply(exchange, until: now + time), at: now) != nil
        }
    }

    /// A connection ends, and its socket is closed next.
    func ended(_ descriptor: Int32) {
        state.withLock { state in state.connections[descriptor] = nil }
    }

    /// Ends those that have taken too long, and answers those that have waited too long.
    func endLate(at now: ContinuousClock.Instant = .now) {
        let late = state.withLock { state in
            var late: [HTTPExchange] = []
            for (descriptor, connection) in state.connections {
                let limit: Duration
                switch connection.phase {
                case .head: limit = limits.headTime
                case .idle: limit = limits.idleTime
                case .body: limit = limits.bodyTime
                case .answer: limit = limits.answerTime
                case .reply(let exchange, let until):
                    if now > until { late.append(exchange) }
                    continue
                }
                if now - connection.since > limit { _ = Self.end(descriptor, of: &state) }
            }
            return late
        }
        for exchange in late { exchange.answerLate() }
    }

    /// Nothing waits any more; what does is answered now.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            return state.connections.values.compactMap { connection -> HTTPExchange? in
                guard case .reply(let exchange, _) = connection.phase else { return nil }
                return exchange
            }
        }
        for exchange in waiting { exchange.answerLate() }
    }

    var count: Int { state.withLock { $0.connections.count } }

    /// Whoever has waited longest without a whole request; else the one that has been answered for the longest time.
    private static func slowest(_ connections: [Int32: Connection]) -> Int32? {
        connections.min { left, right in
            let (left, right) = (left.value, right.value)
            return left.isWholeRequest == right.isWholeRequest ? left.since < right.since : right.isWholeRequest
        }?.key
    }

    /// The server finds the socket at its end, and closes it.
    ///
    /// - Returns: what the server does not look at before somebody ends the waiting.
    private static func end(_ descriptor: Int32?, of state: inout State) -> HTTPExchange? {
        guard let descriptor, let connection = state.connections.removeValue(forKey: descriptor) else { return nil }
        shutdown(descriptor, Int32(SHUT_RDWR))
        guard case .reply(let exchange, _) = connection.phase else { return nil }
        return exchange
    }
}
