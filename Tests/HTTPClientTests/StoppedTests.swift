import HTTPClient
import ProviderStandIn
import Testing

@Suite("HTTPClient: a process that was stopped, and one that is late") struct StoppedTests {
    let authority: Authority
    let stop = Stop()

    init() throws {
        authority = try Authority()
    }

    private func makeServer(streams: UInt32 = 100) throws -> StandInServer {
        var faults = ConnectionFaults()
        faults.streams = streams
        return try StandInServer(authority: authority, faults: faults) { _ in StandInAnswer(status: 200) }
    }

    /// Which has a connection, and takes half a second for a stop.
    private func makeClient(_ server: StandInServer) throws -> TestClient {
        let client = try TestClient(authority, stop: stop) { $0.longestRound = .milliseconds(500) }
        #expect(client.post(server.url)?.isAnswer == true)
        return client
    }

    private func request(_ server: StandInServer, _ tag: UInt64, sendBy: Duration = .seconds(60)) -> HTTPRequest {
        var request = HTTPRequest.to(server.url, tag: tag)
        request.madeAt = .now
        request.sendBy = .now + sendBy
        return request
    }

    private func waitLong() {
        let end = ContinuousClock.now + .milliseconds(600)
        #expect(eventually { .now > end })
    }

    @Test("what its owner had made before it was stopped is given back, and sent once it is made again")
    func queued() throws {
        let server = try makeServer()
        let client = try makeClient(server)
        stop.begin(client, sending: [])
        client.client.submit([request(server, 1)])
        waitLong()
        stop.end()
        #expect(client.results(1).map(\.outcome) == [.failure(.tooLate)])
        #expect(server.counts.requests == 1)
        #expect(client.post([request(server, 1)]).first?.outcome.isAnswer == true)
    }

    @Test("a request whose body waits for the server's flow control when it is stopped is reset, and given back")
    func heldBack() throws {
        let server = try makeServer()
        let client = try makeClient(server)
        var closed = ConnectionFaults()
        closed.window = 0
        server.setFaults(closed)
        // The client has read the new SETTINGS.
        #expect(
            eventually {
                let resets = server.counts.cancelled
                return client.post([request(server, 1, sendBy: .milliseconds(100))]).first?.outcome
                    == .failure(.tooLate)
                    && eventually(within: 5) { server.counts.cancelled > resets }
            })
        let before = server.counts
        stop.begin(client, sending: [request(server, 1)])
        server.setFaults(ConnectionFaults())
        waitLong()
        stop.end()
        #expect(client.results(1).map(\.outcome) == [.failure(.tooLate)])
        #expect(eventually { server.counts.cancelled == before.cancelled + 1 })
        #expect(server.counts.requests == before.requests)
        #expect(client.post([request(server, 1)]).first?.outcome.isAnswer == true)
        #expect(client.client.connectionsOpened == 1)
    }

    @Test("the answers that came while it was stopped are read, however late")
    func answered() throws {
        let server = try makeServer()
        let client = try makeClient(server)
        stop.begin(client, sending: [request(server, 1, sendBy: .milliseconds(200))])
        #expect(eventually { server.counts.requests == 2 })
        waitLong()
        stop.end()
        #expect(client.results(1).first?.outcome.isAnswer == true)
    }

    @Test(
        "a connection whose socket takes no more is ended when a request that it has not taken is too late, and sends no more",
        arguments: [false, true])
    func blocked(takesMoreTooLate: Bool) throws {
        let server = try makeServer(streams: 4_000)
        let proxy = try ConnectProxy()
        proxy.start(to: server.port)
        let client = try TestClient(authority, stop: stop) {
            $0.proxy = .url("http://127.0.0.1:\(proxy.port)")
            $0.streams = 4_000
        }
        #expect(client.post(server.url)?.isAnswer == true)
        proxy.hold()
        // Heads, which flow control does not count; more than sockets take, by less than the client writes at a time.
        let headers = [HTTPHeader("filler", String(repeating: "~", count: 4_000))]
        let end = ContinuousClock.now + .seconds(6)
        var results: [HTTPResult] = []
        for _ in 0..<300 {
            let requests = (0..<10).map {
                HTTPRequest(tag: $0, url: server.url, headers: headers, body: [1], sendBy: end)
            }
            client.client.submit(requests + [.to("", tag: .max)])
            repeat { results += client.results(1) } while .now < end && results.last?.tag != .max
        }
        #expect(.now < end)
        if takesMoreTooLate {
            #expect(eventually { .now > end - .seconds(1) })
            stop.begin(client, sending: [])
            #expect(eventually { .now > end })
            let before = server.counts.requests
            proxy.release()
            #expect(eventually { server.counts.requests > before + 50 })
            stop.end()
        }
        results += client.results(3_300 - results.count)
        if !takesMoreTooLate { proxy.release() }
        let ends = summary(results)
        let lost = "the connection was lost: a request that it did not take in time could not be taken back"
        #expect(ends[lost, default: 0] > 0, "\(ends)")
        #expect(ends["it could not be sent in time", default: 0] > 0)
        #expect(results.count == 3_300)
    }
}
