import Dispatch
import Synchronization
import Testing

@testable import HTTPServer

/// Keeps what the server waits for; `/live` is answered at once.
private final class Waiting: Sendable {
    private let exchanges = Mutex<[HTTPExchange]>([])
    private let came = DispatchSemaphore(value: 0)
    let time: Duration

    init(_ time: Duration = .seconds(60)) {
        self.time = time
    }

    func serve(_ limits: HTTPLimits = HTTPLimits()) throws -> HTTPServer {
        var handler = EchoHandler()
        handler.reply = { request in
            guard request.target != "/live" else { return .now(HTTPResponse(body: "live\n")) }
            let exchange = HTTPExchange(otherwise: HTTPResponse(.serviceUnavailable, body: "nobody answered"))
            if request.target == "/at-once" { exchange.answer(HTTPResponse(body: "at once")) }
            self.exchanges.withLock { $0.append(exchange) }
            self.came.signal()
            return .later(exchange, within: self.time)
        }
        return try HTTPServer(host: "127.0.0.1", port: 0, limits: limits, handler: handler)
    }

    /// - Parameter count: how many requests the handler has got since the last call.
    func next(_ count: Int) -> [HTTPExchange] {
        for _ in 0..<count { came.wait() }
        return exchanges.withLock { Array($0.suffix(count)) }
    }
}

@Suite("HTTP server: answers given later") struct LaterAnswersTests {
    private func ask(_ client: RawClient, _ target: String = "/x") {
        client.send(part: "POST \(target) HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nab")
    }

    @Test(
        "other requests are answered meanwhile, and the answer comes from any thread, on a connection that stays open")
    func later() throws {
        let waiting = Waiting()
        let server = try waiting.serve()
        let clients = try (0..<10).map { _ in try RawClient(port: server.port) }
        for round in 0..<20 {
            for client in clients { ask(client) }
            let exchanges = waiting.next(clients.count)
            #expect(try RawClient(port: server.port).ask("GET /live HTTP/1.1", "Connection: close").status == 200)
            DispatchQueue.concurrentPerform(iterations: exchanges.count) { number in
                exchanges[number].answer(HTTPResponse(body: "round \(round)"))
                exchanges[number].answer(HTTPResponse(.notFound, body: "the second answer is dropped"))
            }
            for client in clients { #expect(try client.receive().body == "round \(round)") }
        }
    }

    @Test("an answer that is there before the handler returns is sent")
    func atOnce() throws {
        let server = try Waiting().serve()
        let client = try RawClient(port: server.port)
        for _ in 0..<3 {
            ask(client, "/at-once")
            #expect(try client.receive().body == "at once")
        }
    }

    @Test("without an answer in time the server gives the other one")
    func timeOut() throws {
        let waiting = Waiting(.milliseconds(300))
        let server = try waiting.serve()
        let client = try RawClient(port: server.port)
        let start = ContinuousClock.now
        ask(client)
        let answer = try client.receive()
        #expect(answer.status == 503 && answer.body == "nobody answered")
        #expect(.now - start >= .milliseconds(300))
        waiting.next(1)[0].answer(HTTPResponse(body: "too late"))
        #expect(try client.ask("GET /live HTTP/1.1").body == "live\n")
    }

    @Test("a client that goes away while it waits does no harm, whoever answers it later", arguments: [true, false])
    func clientGoes(byDeadline: Bool) throws {
        let waiting = Waiting(byDeadline ? .milliseconds(300) : .seconds(60))
        let server = try waiting.serve()
        var clients = try (0..<10).map { _ in try RawClient(port: server.port) }
        for client in clients { ask(client) }
        let exchanges = waiting.next(clients.count)
        clients = []
        if !byDeadline { for exchange in exchanges { exchange.answer(HTTPResponse(body: "nobody reads it")) } }
        #expect(try RawClient(port: server.port).ask("GET /live HTTP/1.1", "Connection: close").status == 200)
        // Its requests are under way until the server has closed their connections.
        #expect(server.drain(within: .seconds(10)))
    }

    @Test("who has waited longest makes room when all wait, and its late answer is dropped")
    func room() throws {
        let waiting = Waiting()
        var limits = HTTPLimits()
        (limits.connections, limits.connectionsOfAnAddress) = (8, 8)
        let server = try waiting.serve(limits)
        let clients = try (0..<8).map { _ in try RawClient(port: server.port) }
        var exchanges: [HTTPExchange] = []
        for client in clients {
            ask(client)
            exchanges += waiting.next(1)
        }
        // Far more than the server's spare places: each ends the oldest.
        for _ in 0..<100 {
            let client = try RawClient(port: server.port)
            #expect(try client.ask("GET /live HTTP/1.1").status == 200)
            ask(client)
            exchanges += waiting.next(1)
        }
        for client in clients { #expect(client.isClosed(within: 5000)) }
        for exchange in exchanges { exchange.answer(HTTPResponse(body: "late")) }
        #expect(server.drain(within: .seconds(10)))
    }

    @Test("an exchange that a handler returns twice answers the first request, and the second is closed")
    func twice() throws {
        let exchange = HTTPExchange(otherwise: HTTPResponse(.serviceUnavailable, body: "nobody answered"))
        let came = DispatchSemaphore(value: 0)
        var handler = EchoHandler()
        handler.reply = { _ in
            came.signal()
            return .later(exchange, within: .seconds(60))
        }
        let server = try HTTPServer(host: "127.0.0.1", port: 0, handler: handler)
        let (first, second) = (try RawClient(port: server.port), try RawClient(port: server.port))
        ask(first)
        came.wait()
        ask(second)
        #expect(second.isClosed(within: 5000))
        exchange.answer(HTTPResponse(body: "once"))
        #expect(try first.receive().body == "once")
        server.stop()
    }

    @Test("the end of the server answers those that wait, and a later answer does no harm")
    func stop() throws {
        let waiting = Waiting()
        let server = try waiting.serve()
        let clients = try (0..<10).map { _ in try RawClient(port: server.port) }
        for client in clients { ask(client) }
        let exchanges = waiting.next(clients.count)
        server.stop()
        for exchange in exchanges { exchange.answer(HTTPResponse(body: "too late")) }
        for client in clients {
            #expect(try client.receive().status == 503)
        }
    }

    @Test("a server that drains refuses what is new with 503 and Retry-After, and finishes what it has")
    func drain() throws {
        let waiting = Waiting()
        let server = try waiting.serve()
        let (client, other) = (try RawClient(port: server.port), try RawClient(port: server.port))
        #expect(try other.ask("GET /live HTTP/1.1").status == 200)
        ask(client)
        let exchange = waiting.next(1)[0]
        #expect(!server.drain(within: .milliseconds(1)))
        for late in [other, try RawClient(port: server.port)] {
            let refused = try late.ask("GET /live HTTP/1.1")
            #expect(refused.status == 503 && refused.headers["retry-after"] == "1")
            #expect(late.isClosed(within: 5000))
        }
        exchange.answer(HTTPResponse(body: "done"))
        #expect(server.drain(within: .seconds(10)))
        let answer = try client.receive()
        #expect(answer.body == "done" && answer.headers["connection"]?.lowercased() == "close")
    }
}
