import Foundation
import HTTPClient
import ProviderStandIn
import Testing

@Suite("HTTPClient: names, certificates, proxies and threads", .serialized) struct TransportTests {
    let authority: Authority

    init() throws {
        authority = try Authority()
    }

    private func makeServer(
        names: String = "DNS:localhost,IP:127.0.0.1", hasExpired: Bool = false, highest: TLSVersion? = nil,
        by other: Authority? = nil, answer: @escaping StandInServer.Handler = { _ in StandInAnswer(status: 200) }
    ) throws -> StandInServer {
        try StandInServer(
            authority: other ?? authority, names: names, hasExpired: hasExpired, highest: highest, handler: answer)
    }

    private func expectNothingArrived(_ server: StandInServer, _ failure: HTTPFailure?) {
        #expect(failure?.mayHaveArrived == false)
        #expect(server.counts.requests == 0)
    }

    @Test("a certificate of another authority is refused, and nothing is sent")
    func otherAuthority() throws {
        let server = try makeServer(by: Authority())
        let failure = try TestClient(authority).post(server.url)?.failure
        guard case .certificateRefused(.authority, _)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        expectNothingArrived(server, failure)
    }

    @Test("a certificate for another name is refused, and nothing is sent")
    func otherName() throws {
        let server = try makeServer(names: "DNS:fcm.example")
        let failure = try TestClient(authority).post(server.url)?.failure
        guard case .certificateRefused(.name, _)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        expectNothingArrived(server, failure)
    }

    @Test("a certificate that has expired is refused, and nothing is sent")
    func expired() throws {
        let server = try makeServer(hasExpired: true)
        let failure = try TestClient(authority).post(server.url)?.failure
        guard case .certificateRefused(.time, _)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        expectNothingArrived(server, failure)
    }

    @Test("the system's authorities are those that count without a file")
    func systemAuthorities() throws {
        let server = try makeServer()
        let failure = try TestClient(authority) { $0.caFile = nil }.post(server.url)?.failure
        guard case .certificateRefused(.authority, _)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }

    @Test(
        "a server that does not agree on HTTP/2 gets no request, and is named as one of HTTP/1.1",
        arguments: [AgreedProtocols.none, .http1])
    func otherProtocol(protocols: AgreedProtocols) throws {
        let server = try StandInServer(authority: authority, protocols: protocols) { _ in StandInAnswer(status: 200) }
        let failure = try TestClient(authority).post(server.url)?.failure
        #expect(failure == .notHTTP2)
        expectNothingArrived(server, failure)
    }

    @Test("TLS 1.1 is refused; 1.2 is accepted")
    func tlsVersions() throws {
        let old = try makeServer(highest: .tls11)
        let failure = try TestClient(authority).post(old.url)?.failure
        guard case .tlsFailed? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        expectNothingArrived(old, failure)
        let server = try makeServer(highest: .tls12)
        #expect(try TestClient(authority).post(server.url)?.isAnswer == true)
    }

    @Test("a name without an address, and a port where nobody listens, are said")
    func noServer() throws {
        let client = try TestClient(authority)
        guard case .nameNotResolved? = client.post("https://no-such-host.invalid/")?.failure else {
            Issue.record("resolved")
            return
        }
        let server = try makeServer()
        server.stop()
        guard case .connectionRefused? = client.post(server.url)?.failure else {
            Issue.record("connected")
            return
        }
    }

    @Test("a server that never finishes its handshake is a time-out, and nothing was sent")
    func connectTimeout() throws {
        let listener = try SilentListener()
        let client = try TestClient(authority) { $0.connectTimeout = .milliseconds(200) }
        #expect(client.post("https://127.0.0.1:\(listener.port)/") == .failure(.timedOut(sent: false)))
    }

    @Test("a proxy that cannot be reached is said, and so is one that refuses the connection")
    func proxy() throws {
        let server = try makeServer()
        let gone = try SilentListener()
        gone.stop()
        let proxy = "http://127.0.0.1:\(gone.port)"
        guard case .proxyFailed? = try TestClient(authority, { $0.proxy = .url(proxy) }).post(server.url)?.failure
        else {
            Issue.record("no proxy")
            return
        }
        let refusing = try SilentListener(answer: "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        let second = "http://127.0.0.1:\(refusing.port)"
        let failure = try TestClient(authority) { $0.proxy = .url(second) }.post(server.url)?.failure
        guard case .proxyFailed? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        expectNothingArrived(server, failure)
    }

    @Test("requests go through a proxy that was named, by HTTP/2 and with the server's certificate checked")
    func throughProxy() throws {
        let server = try makeServer()
        let proxy = try ConnectProxy()
        proxy.start(to: server.port)
        let client = try TestClient(authority) {
            $0.proxy = .url("http://127.0.0.1:\(proxy.port)")
        }
        #expect(client.post((0..<100).map { .to(server.url, tag: $0) }).count { $0.outcome.isAnswer } == 100)
        #expect(proxy.asked == "CONNECT 127.0.0.1:\(server.port) HTTP/1.1")
        #expect(server.counts.connections == 1)
    }

    @Test("HTTPS_PROXY is obeyed")
    func proxyOfTheEnvironment() throws {
        let server = try makeServer()
        let gone = try SilentListener()
        gone.stop()
        setenv("HTTPS_PROXY", "http://127.0.0.1:\(gone.port)", 1)
        defer { unsetenv("HTTPS_PROXY") }
        guard case .proxyFailed? = try TestClient(authority, { $0.proxy = .environment }).post(server.url)?.failure
        else {
            Issue.record("no proxy")
            return
        }
        expectNothingArrived(server, .cancelled(sent: false))
    }

    @Test("a fresh connection carries one request until an answer shows that the credential is accepted")
    func firstAnswerOpens() throws {
        let server = try makeServer { request in
            var answer = StandInAnswer(status: request.path == "/bad" ? 403 : 200)
            if request.path == "/hang" { answer.course = .never }
            return answer
        }
        let client = try TestClient(authority) { $0.firstAnswerOpens = true }
        // Refused credentials: one after the other.
        #expect(client.post((0..<20).map { .to(server.url + "/bad", tag: $0) }).count == 20)
        #expect(server.counts.mostStreams == 1)
        // The first one hangs, so that the others wait.
        client.client.submit((0..<50).map { .to(server.url + "/hang", tag: $0) })
        #expect(eventually { server.counts.requests == 21 })
        #expect(client.client.connectionsOpened == 1)
        server.answerWaiting()
        #expect(eventually { server.counts.requests == 70 })
        server.answerWaiting()
        #expect(client.results(50).count { $0.outcome.isAnswer } == 50)
        #expect(server.counts.mostStreams == 49)
    }

    @Test("after a GOAWAY the next connection has to be opened by an answer again")
    func firstAnswerOpensAgain() throws {
        let first = FirstStreams()
        var faults = ConnectionFaults()
        faults.goAwayAfter = 40
        let server = try StandInServer(authority: authority, faults: faults) { request in
            var answer = StandInAnswer(status: 200)
            // Time for a second request to come too soon.
            if first.add(request) { answer.course = .after(.milliseconds(20)) }
            return answer
        }
        let client = try TestClient(authority) { $0.firstAnswerOpens = true }
        var open = 400
        client.client.submit((0..<400).map { .to(server.url, tag: $0) })
        while open > 0, let result = client.results(1).first {
            if result.outcome.isAnswer { open -= 1 } else { client.client.submit([.to(server.url, tag: result.tag)]) }
        }
        #expect(open == 0)
        #expect(server.counts.connections > 3)
        #expect(first.mostAtSecond == 1)
    }

    @Test("closed clients leave no thread and no descriptor")
    func nothingIsLeft() throws {
        let server = try makeServer()
        func use() throws {
            let client = try TestClient(authority)
            #expect(client.post((0..<10).map { .to(server.url, tag: $0) }).count == 10)
            client.client.close()
        }
        try use()
        // Other suites open and close files meanwhile: what the clients leave would be there each time.
        var isClean = false
        for _ in 0..<20 where !isClean {
            #expect(eventually { server.counts.openConnections == 0 })
            let before = Leftovers()
            for _ in 0..<10 { try use() }
            #expect(eventually { server.counts.openConnections == 0 && Leftovers().threads <= before.threads })
            isClean = Leftovers() == before
        }
        #expect(isClean)
    }

    @Test("a configuration that cannot work is an error that says why")
    func configuration() throws {
        var configuration = HTTPClientConfiguration()
        configuration.caFile = "/no/such/file"
        #expect(startError(configuration) == "cannot read /no/such/file: No such file or directory")
        configuration = HTTPClientConfiguration()
        configuration.streams = 0
        #expect(startError(configuration) == "an HTTP client needs at least one connection and one stream")
    }

    private func startError(_ configuration: HTTPClientConfiguration) -> String? {
        do {
            _ = try HTTPClient(configuration) {}
            return nil
        } catch {
            return error.description
        }
    }
}
