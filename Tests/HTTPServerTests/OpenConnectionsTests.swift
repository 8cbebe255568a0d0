import Glibc
import Testing

@testable import HTTPServer

/// Connected sockets, of which the server's ends are counted as connections.
private final class Pairs {
    let connections = OpenConnections()
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
        connections.opened(ends[0], from: [address], at: start + .seconds(seconds))
        return pairs.count - 1
    }

    func begin(_ number: Int, after seconds: Int) {
        connections.began(pairs[number].server, at: start + .seconds(seconds))
    }

    func answer(_ number: Int, after seconds: Int) {
        connections.answered(pairs[number].server, at: start + .seconds(seconds))
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
    @Test("of one address the oldest without a whole request makes room for the next one, and others stay")
    func oneAddress() {
        let pairs = Pairs()
        let other = pairs.open(from: 2)
        let first = pairs.open(from: 1, after: 1)
        pairs.begin(first, after: 2)
        for second in 2..<(OpenConnections.mostFromOneAddress + 1) { pairs.open(from: 1, after: second) }
        #expect(pairs.ended.isEmpty)
        let newest = pairs.open(from: 1, after: 20)
        #expect(pairs.ended == [first + 1])
        #expect(newest > other && pairs.connections.count == OpenConnections.mostFromOneAddress + 1)
    }

    @Test("of many addresses the oldest without a whole request makes room")
    func manyAddresses() {
        let pairs = Pairs()
        for number in 0..<OpenConnections.most { pairs.open(from: UInt8(number), after: number) }
        pairs.begin(0, after: 100)
        pairs.open(from: 200, after: 101)
        pairs.open(from: 201, after: 102)
        #expect(pairs.ended == [1, 2])
        #expect(pairs.connections.count == OpenConnections.most)
    }

    @Test("where all are being answered, the one for which it takes longest makes room")
    func allAnswered() {
        let pairs = Pairs()
        for number in 0..<OpenConnections.mostFromOneAddress {
            pairs.open(from: 1)
            pairs.begin(number, after: 20 - number)
        }
        pairs.open(from: 1, after: 21)
        #expect(pairs.ended == [OpenConnections.mostFromOneAddress - 1])
    }

    @Test(
        "the time for a request's head counts from the accept and from the end of the last answer; an answer has its own"
    )
    func times() {
        let pairs = Pairs()
        let (silent, answered, reading) = (pairs.open(from: 1), pairs.open(from: 2), pairs.open(from: 3))
        pairs.begin(answered, after: 4)
        pairs.answer(answered, after: 5)
        pairs.begin(reading, after: 5)
        pairs.connections.endLate(at: pairs.start + OpenConnections.headTime)
        #expect(pairs.ended.isEmpty)
        pairs.connections.endLate(at: pairs.start + .seconds(6))
        #expect(pairs.ended == [silent])
        pairs.connections.endLate(at: pairs.start + .seconds(11))
        #expect(pairs.ended == [silent, answered])
        pairs.connections.endLate(at: pairs.start + .seconds(36))
        #expect(pairs.ended == [silent, answered, reading])
        #expect(pairs.connections.count == 0)
    }
}
