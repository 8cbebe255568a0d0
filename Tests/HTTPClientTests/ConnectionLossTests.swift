import Foundation
import HTTPClient
import ProviderStandIn
import Synchronization
import Testing

/// What arrived at a server, by the requests' bodies.
final class Arrivals: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    func add(_ request: StandInRequest) {
        counts.withLock { $0[String(decoding: request.body, as: UTF8.self), default: 0] += 1 }
    }

    func count(_ tag: UInt64) -> Int { counts.withLock { $0["\(tag)"] ?? 0 } }
}

@Suite("HTTPClient: what becomes of requests whose connection ends") struct ConnectionLossTests {
    let authority: Authority
    let arrivals = Arrivals()

    init() throws {
        authority = try Authority()
    }

    private func makeServer(_ faults: ConnectionFaults = ConnectionFaults()) throws -> StandInServer {
        try StandInServer(authority: authority, faults: faults) { [arrivals] request in
            arrivals.add(request)
            var answer = StandInAnswer(status: 200)
            switch request.path {
            case "/reset": answer.course = .resetConnection
            case "/refuse": answer.course = .resetStream(7)
            case "/internal": answer.course = .resetStream(2)
            case "/hang": answer.course = .never
            default: break
            }
            return answer
        }
    }

    private func requests(_ server: StandInServer, _ tags: Range<UInt64>, _ path: String = "/") -> [HTTPRequest] {
        tags.map { .to(server.url + path, tag: $0, body: "\($0)") }
    }

    /// Sends until each is answered, as a caller would; returns how often each failed.
    private func sendAll(_ client: TestClient, _ server: StandInServer, _ count: UInt64) -> [UInt64: [HTTPFailure]] {
        var failures: [UInt64: [HTTPFailure]] = [:]
        var open = Set(0..<count)
        client.client.submit(requests(server, 0..<count))
        while !open.isEmpty {
            guard let result = client.results(1).first else { break }
            if let failure = result.outcome.failure {
                failures[result.tag, default: []].append(failure)
                client.client.submit(requests(server, result.tag..<(result.tag + 1)))
            } else {
                open.remove(result.tag)
            }
        }
        #expect(open.isEmpty)
        return failures
    }

    @Test(
        "a GOAWAY in the middle loses nothing: what it left out is sent again by the caller, and nothing arrives twice")
    func goAway() throws {
        var faults = ConnectionFaults()
        faults.goAwayAfter = 150
        let server = try makeServer(faults)
        let client = try TestClient(authority)
        let failures = sendAll(client, server, 2_000)
        #expect(!failures.isEmpty)
        #expect(failures.values.joined().allSatisfy { !$0.mayHaveArrived })
        for tag in 0..<UInt64(2_000) { #expect(arrivals.count(tag) == 1, "\(failures[tag, default: []])") }
        #expect(server.counts.connections > 2_000 / 250)
    }

    @Test("connections that are cut off lose nothing, and what arrived twice may have arrived")
    func resets() throws {
        var faults = ConnectionFaults()
        faults.resetEvery = 170
        let server = try makeServer(faults)
        let client = try TestClient(authority)
        let failures = sendAll(client, server, 2_000)
        #expect(!failures.isEmpty)
        for tag in 0..<UInt64(2_000) {
            let mayHave = failures[tag, default: []].count { $0.mayHaveArrived }
            #expect(arrivals.count(tag) >= 1)
            #expect(arrivals.count(tag) <= 1 + mayHave, "\(failures[tag, default: []])")
        }
    }

    @Test("a POST on a connection that was used before and dies is not sent again: a loss that may have arrived")
    func noSilentRepeat() throws {
        let server = try makeServer()
        let client = try TestClient(authority)
        #expect(client.post(server.url)?.isAnswer == true)
        for tag in UInt64(1)...5 {
            let failure = client.post(requests(server, tag..<(tag + 1), "/reset")).first?.outcome.failure
            guard case .connectionLost(sent: true, _)? = failure else {
                Issue.record("\(String(describing: failure))")
                continue
            }
            #expect(failure?.mayHaveArrived == true)
            // The next answer would come after a repeat.
            #expect(client.post(server.url)?.isAnswer == true)
            #expect(arrivals.count(tag) == 1)
        }
    }

    @Test("a POST on a fresh connection that dies is a loss that may have arrived, and is not sent again")
    func freshConnectionLost() throws {
        let server = try makeServer()
        let client = try TestClient(authority)
        let failure = client.post(requests(server, 1..<2, "/reset")).first?.outcome.failure
        #expect(failure?.mayHaveArrived == true)
        #expect(client.post(server.url)?.isAnswer == true)
        #expect(arrivals.count(1) == 1)
    }

    @Test("a stream that the server resets fails with its code, and is not sent again", arguments: [false, true])
    func resetStream(isReused: Bool) throws {
        let server = try makeServer()
        let client = try TestClient(authority)
        if isReused { _ = client.post(server.url) }
        let failure = client.post(requests(server, 1..<2, "/internal")).first?.outcome.failure
        guard case .http2Failed(code: 2, _)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(failure?.mayHaveArrived == true)
        #expect(arrivals.count(1) == 1)
        #expect(client.post(server.url)?.isAnswer == true)
    }

    @Test("a stream that the server refuses is not sent again by the client", arguments: [false, true])
    func refusedStream(isReused: Bool) throws {
        let server = try makeServer()
        let client = try TestClient(authority)
        if isReused { _ = client.post(server.url) }
        let failure = client.post(requests(server, 1..<2, "/refuse")).first?.outcome.failure
        guard case .http2Failed(code: 7, _)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(failure?.mayHaveArrived == false)
        #expect(arrivals.count(1) == 1)
        #expect(client.post(server.url)?.isAnswer == true)
    }

    @Test("a request without an answer times out, may have arrived, and leaves the others alone")
    func timeout() throws {
        let server = try makeServer()
        let client = try TestClient(authority) { $0.timeout = .milliseconds(300) }
        #expect(client.post(server.url)?.isAnswer == true)
        let results = client.post(requests(server, 1..<2, "/hang") + requests(server, 2..<3))
        #expect(results.first { $0.tag == 1 }?.outcome == .failure(.timedOut(sent: true)))
        #expect(results.first { $0.tag == 2 }?.outcome.isAnswer == true)
        #expect(HTTPFailure.timedOut(sent: true).mayHaveArrived)
        #expect(client.post(server.url)?.isAnswer == true)
        #expect(client.client.connectionsOpened == 1)
    }

    @Test("a connection through which nothing comes any more is given up at the first time-out")
    func stalledConnection() throws {
        var faults = ConnectionFaults()
        faults.stallAfter = 1
        faults.connections = 1
        let server = try makeServer(faults)
        let client = try TestClient(authority) { $0.timeout = .milliseconds(300) }
        #expect(client.post(server.url)?.isAnswer == true)
        #expect(client.post([.to(server.url, tag: 1)]).first?.outcome.failure?.mayHaveArrived == true)
        #expect(client.post(server.url)?.isAnswer == true)
        #expect(client.client.connectionsOpened == 2)
    }

    @Test("cancelled requests have a result, are reset at the server, and the connection goes on")
    func cancel() throws {
        let server = try makeServer()
        let client = try TestClient(authority) { $0.streams = 4 }
        client.client.submit(requests(server, 0..<6, "/hang"))
        #expect(eventually { server.counts.requests == 4 })
        client.client.cancel(tags: [1, 5, 77])
        let cancelled = client.results(2)
        #expect(cancelled.first { $0.tag == 1 }?.outcome == .failure(.cancelled(sent: true)))
        #expect(cancelled.first { $0.tag == 5 }?.outcome == .failure(.cancelled(sent: false)))
        #expect(eventually { server.counts.requests == 5 })
        client.client.cancel(tags: [0, 2, 3, 4])
        #expect(client.results(4).allSatisfy { $0.outcome == .failure(.cancelled(sent: true)) })
        #expect(client.post(server.url)?.isAnswer == true)
        #expect(client.client.connectionsOpened == 1)
    }

    @Test("a client that is closed while requests are in flight gives each its result, and refuses further ones")
    func close() throws {
        let server = try makeServer()
        let client = try TestClient(authority) { $0.streams = 4 }
        client.client.submit(requests(server, 0..<6, "/hang"))
        #expect(eventually { server.counts.requests == 4 })
        client.client.close()
        #expect(Set(client.results(6).map(\.tag)) == Set(0..<6))
        #expect(client.post(server.url) == .failure(.cancelled(sent: false)))
        client.client.close()
    }

    @Test("closing waits for answers that come in time")
    func closeWaits() throws {
        let server = try makeServer()
        let client = try TestClient(authority)
        client.client.submit(requests(server, 0..<1_000))
        client.client.close(within: .seconds(30))
        #expect(client.results(1_000).count { $0.outcome.isAnswer } == 1_000)
    }
}
