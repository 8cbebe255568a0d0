import Testing

@testable import HTTPServer

@Suite struct HTTPServerTests {
    private func makeServer(port: UInt16 = 0) throws -> HTTPServer {
        try HTTPServer(host: "127.0.0.1", port: port) { path in
            switch path {
            case "/päge", "/page": HTTPResponse(body: "hällo\n")
            case "/away": HTTPResponse(.serviceUnavailable, body: "not now\n")
            default: nil
            }
        }
    }

    @Test("a page is served with its type and its length in bytes")
    func page() throws {
        let server = try makeServer()
        let answer = try RawClient(port: server.port).ask("GET /page?name=value HTTP/1.1")
        #expect(answer.status == 200)
        #expect(answer.headers["content-type"] == "text/plain; charset=utf-8")
        #expect(answer.headers["content-length"] == "7")
        #expect(answer.body == "hällo\n")
    }

    @Test("a page may say that it is not available")
    func unavailable() throws {
        let server = try makeServer()
        let answer = try RawClient(port: server.port).ask("GET /away HTTP/1.1")
        #expect(answer.status == 503)
        #expect(answer.body == "not now\n")
    }

    @Test("HEAD has the headers of GET, and no body")
    func head() throws {
        let server = try makeServer()
        let answer = try RawClient(port: server.port).ask("HEAD /page HTTP/1.1", "Connection: close")
        #expect(answer.status == 200)
        #expect(answer.headers["content-length"] == "7")
        #expect(answer.body == "")
    }

    @Test("the path of a page is decoded; one that cannot be is 400")
    func paths() throws {
        let server = try makeServer()
        for (path, status) in [
            ("/p%C3%A4ge", 200), ("/%70age", 200), ("/page%00", 400), ("/%zz", 400), ("/pa%2567e", 404),
        ] {
            #expect(try RawClient(port: server.port).ask("GET \(path) HTTP/1.1").status == status)
        }
    }

    @Test("an unknown page is 404, another method 405 with the allowed ones", arguments: ["POST", "PUT", "DELETE"])
    func refused(method: String) throws {
        let server = try makeServer()
        #expect(try RawClient(port: server.port).ask("GET /other HTTP/1.1").status == 404)
        let client = try RawClient(port: server.port)
        let answer = try client.ask("\(method) /page HTTP/1.1", "Content-Length: 5", body: "hello")
        #expect(answer.status == 405)
        #expect(answer.headers["allow"] == "GET, HEAD")
    }

    @Test("a connection serves many requests, the body of a GET is ignored, and nonsense closes only its connection")
    func keepAlive() throws {
        let server = try makeServer()
        let client = try RawClient(port: server.port)
        let nonsense = try RawClient(port: server.port)
        #expect((try? nonsense.ask("\u{1}\u{2}"))?.status != 200)
        #expect(throws: RawClient.Failure.self) { try nonsense.ask("GET /page HTTP/1.1") }
        for _ in 0..<3 {
            #expect(try client.ask("GET /page HTTP/1.1", "Content-Length: 4", body: "body").status == 200)
        }
    }

    @Test("a port that is in use is an error that names the address")
    func portInUse() throws {
        let server = try makeServer()
        let error = #expect(throws: HTTPServerError.self) { try self.makeServer(port: server.port) }
        #expect(error?.description == "cannot serve HTTP at 127.0.0.1:\(server.port): the port is in use")
    }

    @Test(
        "a host that is not an address of this machine is an error that names it",
        arguments: ["203.0.113.7", String(repeating: "x", count: 300)])
    func wrongHost(host: String) {
        let error = #expect(throws: HTTPServerError.self) { try HTTPServer(host: host, port: 0) { _ in nil } }
        #expect(error?.description.contains(host) == true)
    }

    @Test("a stopped server has closed its port, and another one can use it at once")
    func stop() throws {
        let first = try makeServer()
        let client = try RawClient(port: first.port)
        #expect(try client.ask("GET /page HTTP/1.1").status == 200)
        first.stop()
        first.stop()
        #expect(throws: RawClient.Failure.self) { _ = try RawClient(port: first.port) }
        let second = try makeServer(port: first.port)
        #expect(try RawClient(port: second.port).ask("GET /page HTTP/1.1").status == 200)
    }
}
