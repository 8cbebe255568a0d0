import Glibc
import Testing

@testable import HTTPServer

/// Connected sockets, of which the server's ends are counted as connections.
private final class Pairs {
    let connections = OpenConnections(HTTPLimits())
    let start = ContinuousClock.now
    private var pairs: [(server: Int32, client: Int32)] = []

    deinit {
        for pair in pairs {
            close(pair.server)
            close(pair.client)
        }
    }

    /// - Returns: its number.
    @discardableResult
    func open(from address: UInt8, after seconds: Int = 0) -> Int {
        var ends: [Int32] = [0, 0]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        pairs.append((ends[0], ends[1]))
        connections.opened(ends[0], from: ClientAddress(low: UInt64(address)), at: start + .seconds(seconds))
        return pairs.count - 1
    }

    func enter(_ phase: OpenConnections.Phase, _ number: Int, after seconds: Int) {
        connections.enter(phase, pairs[number].server, at: start + .seconds(seconds))
    }

    func begin(_ number: Int, after seconds: Int) {
        connections.began(pairs[number].server, at: start + .seconds(seconds))
    }

    func wait(_ number: Int, for exchange: HTTPExchange, after seconds: Int) -> Bool {
        connections.wait(
            for: exchange, pairs[number].server, atMost: .seconds(60), at: start + .seconds(seconds))
    }

    /// The numbers of those that were told to end.
    var ended: [Int] {
        pairs.indices.filter { number in
            var ready = pollfd(fd: pairs[number].client, events: Int16(POLLIN), revents: 0)
            return poll(&ready, 1, 0) > 0
        }
    }
}

@Suite("HTTP server: which connections make room") struct OpenConnectionsTests {
    private let limits = HTTPLimits()

    @Test("of one address the oldest without a whole request makes room for the next one, and others stay")
    func oneAddress() {
        let pairs = Pairs()
        let other = pairs.open(from: 2)
        let first = pairs.open(from: 1, after: 1)
        pairs.enter(.answer, first, after: 2)
        for second in 2..<(limits.connectionsOfAnAddress + 1) { pairs.open(from: 1, after: second) }
        #expect(pairs.ended.isEmpty)
        let newest = pairs.open(from: 1, after: 20)
        #expect(pairs.ended == [first + 1])
        #expect(newest > other && pairs.connections.count == limits.connectionsOfAnAddress + 1)
    }

    @Test("of many addresses the oldest without a whole request makes room")
    func manyAddresses() {
        let pairs = Pairs()
        for number in 0..<limits.connections { pairs.open(from: UInt8(number), after: number) }
        pairs.enter(.answer, 0, after: 100)
        pairs.open(from: 200, after: 101)
        pairs.open(from: 201, after: 102)
        #expect(pairs.ended == [1, 2])
        #expect(pairs.connections.count == limits.connections)
    }

    @Test("where all are being answered, the one for which it takes longest makes room")
    func allAnswered() {
        let pairs = Pairs()
        for number in 0..<limits.connectionsOfAnAddress {
            pairs.open(from: 1)
            pairs.enter(.answer, number, after: 20 - number)
        }
        pairs.open(from: 1, after: 21)
        #expect(pairs.ended == [limits.connectionsOfAnAddress - 1])
    }

    @Test("each phase has its own time, and the first head counts from the accept")
    func times() {
        let pairs = Pairs()
        let (silent, idle, further, sending, reading) = (
            pairs.open(from: 1), pairs.open(from: 2), pairs.open(from: 3), pairs.open(from: 4), pairs.open(from: 5)
        )
        pairs.begin(silent, after: 4)
        pairs.enter(.idle, idle, after: 5)
        pairs.enter(.idle, further, after: 4)
        pairs.begin(further, after: 8)
        pairs.enter(.body, sending, after: 4)
        pairs.enter(.answer, reading, after: 5)
        let ended = [
            (5, []), (6, [silent]), (11, [silent, idle]), (14, [silent, idle, further]),
            (15, [silent, idle, further, sending]),
        ]
        for (second, numbers) in ended {
            pairs.connections.endLate(at: pairs.start + .seconds(second))
            #expect(pairs.ended == numbers, "after \(second) s")
        }
        pairs.connections.endLate(at: pairs.start + .seconds(36))
        #expect(pairs.connections.count == 0)
    }

    @Test("who waits for an answer keeps its connection until its own time is over, and then gets the other answer")
    func waiting() {
        let pairs = Pairs()
        let number = pairs.open(from: 1)
        let exchange = HTTPExchange(otherwise: HTTPResponse(.serviceUnavailable, body: ""))
        #expect(pairs.wait(number, for: exchange, after: 1))
        pairs.connections.endLate(at: pairs.start + .seconds(61))
        #expect(exchange.given == nil)
        pairs.connections.endLate(at: pairs.start + .seconds(62))
        #expect(exchange.given != nil)
        #expect(pairs.ended.isEmpty)
    }

    @Test("nothing waits behind the end of the server, or on a connection that was told to end")
    func closed() {
        let pairs = Pairs()
        let exchange = HTTPExchange(otherwise: HTTPResponse(body: ""))
        let late = pairs.open(from: 1)
        pairs.connections.endLate(at: pairs.start + .seconds(6))
        #expect(!pairs.wait(late, for: exchange, after: 6))
        let number = pairs.open(from: 1)
        #expect(pairs.wait(number, for: exchange, after: 1))
        pairs.connections.close()
        #expect(exchange.given != nil)
        #expect(!pairs.wait(number, for: exchange, after: 1))
    }
}
