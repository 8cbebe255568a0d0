import Glibc
import Testing

@testable import HTTPServer

@Suite("HTTP server: bodies") struct BodyTests {
    private let server: HTTPServer
    private let handler = EchoHandler()

    private var refused: [UInt32] { handler.refusals.statuses.withLock { $0.map(\.rawValue) } }

    init() throws {
        var limits = HTTPLimits()
        limits.bodiesBytes = 1500
        server = try HTTPServer(host: "127.0.0.1", port: 0, limits: limits, handler: handler)
    }

    private func post(_ lines: String..., body: String = "") throws -> (answer: RawClient.Answer, isClosed: Bool) {
        let client = try RawClient(port: server.port)
        let head = (["POST /x HTTP/1.1", "Host: test"] + lines).joined(separator: "\r\n")
        client.send(part: head + "\r\n\r\n" + body)
        let answer = try client.receive()
        guard client.send(part: "GET /x HTTP/1.1\r\nHost: test\r\n\r\n") else { return (answer, true) }
        return (answer, (try? client.receive())?.status != 200)
    }

    @Test("a body of every method arrives in whole, however it is cut, and the connection serves the next request")
    func whole() throws {
        let body = String(repeating: "0123456789", count: 100)
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            let client = try RawClient(port: server.port)
            let first = try client.ask("\(method) /x HTTP/1.1", "Content-Length: 1000", body: body)
            #expect(first.status == 200 && first.body == body && first.headers["x-method"] == method)
            client.send(part: "\(method) /x HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n3")
            client.send(part: "E8\r\n" + body.prefix(990))
            client.send(part: body.suffix(10) + "\r\n0\r\n\r\n")
            #expect(try client.receive().body == body)
        }
    }

    @Test("a request knows the address that it came from")
    func peer() throws {
        let handler = EchoHandler { request in .now(HTTPResponse(body: request.peer)) }
        let server = try HTTPServer(host: "127.0.0.1", port: 0, handler: handler)
        for host in [1, 7] as [UInt32] {
            #expect(try RawClient(port: server.port, from: host).ask("GET /x HTTP/1.1").body == "127.0.0.\(host)")
        }
        var six = sockaddr_in6()
        six.sin6_family = sa_family_t(AF_INET6)
        inet_pton(AF_INET6, "2001:db8::7", &six.sin6_addr)
        let text = withUnsafePointer(to: &six) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1, ClientAddress.text)
        }
        #expect(text == "2001:db8::7" && ClientAddress.text(nil).isEmpty)
    }

    @Test("a length above the limit is refused before anything of the body is read or asked for")
    func announced() throws {
        let client = try RawClient(port: server.port)
        let answer = try client.ask("POST /x HTTP/1.1", "Content-Length: 1001", "Expect: 100-continue")
        #expect(answer.status == 413)
        #expect(answer.body == "the body is too large; allowed are 1000 bytes")
        #expect(client.isClosed(within: 5000))
        let allowed = try RawClient(port: server.port)
        #expect(
            try allowed.ask("POST /x HTTP/1.1", "Content-Length: 5", "Expect: 100-continue").status == 100)
        allowed.send(part: "hello")
        #expect(try allowed.receive().body == "hello")
    }

    @Test("who may not send a body is refused before it is asked for; without a body the connection stays open")
    func notAdmitted() throws {
        let client = try RawClient(port: server.port)
        for _ in 0..<2 { #expect(try client.ask("GET /x HTTP/1.1", "Authorization: none").status == 404) }
        let answer = try client.ask(
            "POST /x HTTP/1.1", "Authorization: none", "Content-Length: 5", "Expect: 100-continue")
        #expect(answer.status == 404)
        #expect(client.isClosed(within: 5000))
    }

    @Test("a body in chunks is refused as soon as it is too large, and is not kept")
    func chunks() throws {
        let chunk = "1F4\r\n" + String(repeating: "a", count: 500) + "\r\n"
        let whole = try post("Transfer-Encoding: chunked", body: chunk + chunk + "0\r\n\r\n")
        #expect(whole.answer.status == 200)
        let more = try post("Transfer-Encoding: chunked", body: String(repeating: chunk, count: 3) + "0\r\n\r\n")
        #expect(more.answer.status == 413)
        let much = try post("Transfer-Encoding: chunked", body: String(repeating: chunk, count: 300) + "0\r\n\r\n")
        #expect(much.answer.status == 413)
    }

    @Test("all bodies together have a limit, and what one took is free again behind it, also if it was cut off")
    func together() throws {
        for _ in 0..<3 {
            let first = try RawClient(port: server.port)
            first.send(
                part: "POST /x HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n"
                    + String(repeating: "a", count: 999))
            // What is answered shows that the server has read the first one's part.
            var second = try post("Content-Length: 502", body: String(repeating: "b", count: 502))
            while second.answer.status == 200 {
                second = try post("Content-Length: 502", body: String(repeating: "b", count: 502))
            }
            #expect(second.answer.status == 503 && second.answer.headers["retry-after"] == "1")
            #expect(try post("Content-Length: 501", body: String(repeating: "b", count: 501)).answer.status == 200)
        }
    }

    @Test(
        "a body whose end nobody knows for sure is refused, and the connection closed",
        arguments: [
            ["Content-Length: 3", "Content-Length: 3"], ["Content-Length: 3", "Content-Length: 4"],
            ["Content-Length: 3", "Transfer-Encoding: chunked"], ["Transfer-Encoding: chunked", "Content-Length: 3"],
            ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], ["Transfer-Encoding: gzip, chunked"],
            ["Transfer-Encoding: identity"], ["Content-Length: -1"], ["Content-Length: +3"], ["Content-Length: 3, 3"],
            ["Content-Length: 0x3"], ["Content-Length: "], ["Content-Length: 3 3"], ["Content-Length : 3"],
            ["Content-Length: 1\r\n 0"], ["Content-\r\n\tLength: 3"], ["X-A: b\r\n c"], ["X-A: b\0c"], ["X-A\0: b"],
            ["X A: b"], [": b"], ["X-A"], ["Host: other"],
            // The Kelvin sign is a k where letters are compared without their case.
            ["X-To\u{212A}en: b"], ["Transfer-Encoding: chun\u{212A}ed"],
        ])
    func malformed(lines: [String]) throws {
        let client = try RawClient(port: server.port)
        let head = (["POST /x HTTP/1.1", "Host: test"] + lines).joined(separator: "\r\n")
        client.send(part: head + "\r\n\r\nabcGET /smuggled HTTP/1.1\r\nHost: test\r\n\r\n")
        #expect(try client.receive().status == 400)
        #expect(client.isClosed(within: 5000))
        #expect(refused == [400])
    }

    @Test("a length that no integer holds is too large")
    func hugeLength() throws {
        #expect(try post("Content-Length: 18446744073709551616").answer.status == 413)
        #expect(refused == [413])
    }

    @Test(
        "chunks with a sign, without a size, or of another size than they say are refused",
        arguments: [
            "+3\r\nabc\r\n0\r\n\r\n", "-3\r\nabc\r\n", "\r\nabc", "3\r\nabcd\r\n0\r\n\r\n", "g\r\n", " 3\r\nabc\r\n",
        ])
    func chunkSizes(body: String) throws {
        let (answer, isClosed) = try post("Transfer-Encoding: chunked", body: body)
        #expect(answer.status == 400 && isClosed)
        #expect(refused == [400])
    }

    @Test("after a body in chunks the connection is closed: libmicrohttpd ends their lines where a proxy may not")
    func chunksClose() throws {
        let client = try RawClient(port: server.port)
        client.send(
            part: "POST /x HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3;\nabc\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: test\r\n\r\n")
        let answer = try client.receive()
        #expect(answer.status == 200 && answer.headers["connection"] == "close")
        #expect(client.isClosed(within: 5000))
    }

    @Test("lines that end without CR, and heads and targets that are too long, are refused")
    func heads() throws {
        let bare = try RawClient(port: server.port)
        bare.send(part: "GET /x HTTP/1.1\nHost: test\n\n")
        #expect(try bare.receive().status == 400)
        for twice in [
            "GET  /x HTTP/1.1\r\nHost: test\r\nX-A: b\nX-B: c\r\n\r\n",
            "GET  /x  HTTP/1.1\r\nHost: test\nX-A: b\nX-B: c\r\n\r\n",
            "GET /x HTTP/1.1\r\nHost: test\nX-A: b\0c\r\nX-B: c\n\r\n",
        ] {
            let client = try RawClient(port: server.port)
            client.send(part: twice)
            #expect(try client.receive().status == 400)
        }
        for (size, status) in [(4000, 200), (4100, 414), (40_000, 414)] {
            let target = String(repeating: "a", count: size)
            #expect(try RawClient(port: server.port).ask("GET /\(target) HTTP/1.1").status == status)
        }
        for (size, status) in [(16_000, 200), (16_500, 431), (40_000, 431)] {
            let value = String(repeating: "a", count: size)
            #expect(try RawClient(port: server.port).ask("GET /x HTTP/1.1", "X-A: \(value)").status == status)
        }
        #expect(refused == [400, 400, 400, 400, 414, 414, 431, 431])
    }
}
