import Glibc
import Testing

@testable import HTTPServer

@Suite("HTTP server: many and slow clients", .serialized) struct SlowClientsTests {
    private let server: HTTPServer

    init() throws {
        server = try HTTPServer(host: "127.0.0.1", port: 0) { $0 == "/live" ? HTTPResponse(body: "live\n") : nil }
    }

    private static let head = "GET /live HTTP/1.1\r\nHost: test\r\nX-Slow: "
    private static let body = "POST /live HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\na"

    /// So many connections that have sent the beginning of a request, from so many addresses.
    private func hangOn(_ count: Int, from addresses: Int, part: String = head) throws -> [RawClient] {
        var clients: [RawClient] = []
        for number in 0..<count {
            let client = try RawClient(port: server.port, from: UInt32(2 + number % addresses))
            client.send(part: part)
            clients.append(client)
        }
        return clients
    }

    /// The median of some probes that each make a connection of their own.
    private func probe(from host: UInt32) throws -> Duration {
        var times: [Duration] = []
        for _ in 0..<7 {
            let start = ContinuousClock.now
            #expect(
                try RawClient(port: server.port, from: host).ask("GET /live HTTP/1.1", "Connection: close").status
                    == 200)
            times.append(.now - start)
        }
        return times.sorted()[times.count / 2]
    }

    private var descriptors: Int {
        var count = 0
        for descriptor in Int32(0)..<65_536 where fcntl(descriptor, F_GETFD) >= 0 { count += 1 }
        return count
    }

    @Test(
        "a probe is answered within a second while 64 connections hang on, from its own address, another one, or many",
        arguments: [(1, UInt32(2)), (1, 1), (60, 1), (60, 3)])
    func sixtyFour(addresses: Int, host: UInt32) throws {
        let clients = try hangOn(64, from: addresses)
        #expect(try probe(from: host) < .seconds(1))
        for client in clients { client.send(part: "a") }
        #expect(try probe(from: host) < .seconds(1))
    }

    @Test(
        "so it is while 10,000 hang on in a head or a body, and the server keeps few of them",
        arguments: [(1, head), (250, body)])
    func tenThousand(addresses: Int, part: String) throws {
        let files = OpenFiles(24_000)
        defer { files.restore() }
        let count = min(10_000, files.limit - 1_000)
        let clients = try hangOn(count, from: addresses, part: part)
        #expect(try probe(from: 1) < .seconds(1))
        #expect(try probe(from: 2) < .seconds(1))
        let own = descriptors - clients.count
        #expect(own < 500, "the server keeps few connections")
    }

    @Test("a request whose head takes longer than five seconds is ended, however often a byte of it comes")
    func slowHead() throws {
        let client = try RawClient(port: server.port)
        let start = ContinuousClock.now
        client.send(part: "GET /live HTTP/1.1\r\nX-Slow: ")
        while client.send(part: "a"), !client.isClosed(within: 50) {
            try #require(.now - start < .seconds(60), "it is still open")
        }
        #expect(.now - start >= HTTPLimits().headTime)
    }

    @Test("a client that does not read its answers keeps nobody out")
    func slowReaders() throws {
        let clients = try hangOn(64, from: 60)
        for client in clients {
            client.send(part: "a\r\n\r\n" + String(repeating: "GET /live HTTP/1.1\r\nHost: x\r\n\r\n", count: 50))
        }
        #expect(try probe(from: 1) < .seconds(1))
    }

    @Test("a body that takes longer than its time is ended, however often a byte of it comes")
    func slowBody() throws {
        var limits = HTTPLimits()
        limits.bodyTime = .seconds(1)
        let server = try HTTPServer(host: "127.0.0.1", port: 0, limits: limits, handler: EchoHandler())
        let client = try RawClient(port: server.port)
        let start = ContinuousClock.now
        client.send(part: Self.body)
        while client.send(part: "a"), !client.isClosed(within: 50) {
            try #require(.now - start < .seconds(60), "it is still open")
        }
        #expect(.now - start >= limits.bodyTime)
    }
}
