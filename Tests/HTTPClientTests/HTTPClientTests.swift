import Foundation
import HTTPClient
import ProviderStandIn
import Synchronization
import Testing

@Suite("HTTPClient: requests and answers") struct HTTPClientTests {
    let authority: Authority

    init() throws {
        authority = try Authority()
    }

    /// Answers with the request's body.
    private func makeEcho(
        _ faults: ConnectionFaults = ConnectionFaults(), omitsLength: Bool = false
    ) throws -> StandInServer {
        try StandInServer(authority: authority, omitsLength: omitsLength, faults: faults) { request in
            StandInAnswer(
                status: 200, headers: [("apns-id", "id of \(request.path)"), ("other", "x")],
                body: String(decoding: request.body, as: UTF8.self))
        }
    }

    @Test(
        "5,000 requests over one connection of 100 streams: each is answered once, with its own tag",
        arguments: [false, true])
    func many(omitsLength: Bool) throws {
        let server = try makeEcho(omitsLength: omitsLength)
        let client = try TestClient(authority)
        let results = client.post(
            (0..<5_000).map { .to("\(server.url)/\($0 % 10)", tag: $0, body: "body \($0)") })
        #expect(summary(results) == ["200": 5_000])
        #expect(Set(results.map(\.tag)) == Set(0..<5_000))
        #expect(results.count == 5_000)
        for result in results {
            let response = try result.outcome.get()
            #expect(response.status == 200)
            #expect(String(decoding: response.body, as: UTF8.self) == "body \(result.tag)")
        }
        #expect(client.client.connectionsOpened == 1)
        #expect(server.counts.connections == 1)
        #expect(server.counts.mostStreams > 50)
        #expect(server.counts.mostStreams <= 100)
        client.client.close()
    }

    @Test("the headers of a request arrive as they are, and nothing that nobody asked for")
    func headers() throws {
        let seen = Mutex<[String: String]>([:])
        let server = try StandInServer(authority: authority) { request in
            seen.withLock { $0 = Dictionary(uniqueKeysWithValues: request.headers.map { ($0.name, $0.value) }) }
            return StandInAnswer(status: request.method == "POST" && request.path == "/3/device/x" ? 200 : 400)
        }
        let client = try TestClient(authority)
        let result = client.post([
            .to("\(server.url)/3/device/x", headers: [.init("apns-topic", "app"), .init("empty", "")], body: "12345")
        ])
        #expect(try result.first?.outcome.get().status == 200)
        #expect(seen.withLock { $0 } == ["apns-topic": "app", "empty": "", "content-length": "5"])
    }

    @Test("of the answer's headers those are kept that were asked for; duration and body are the answer's")
    func answer() throws {
        let server = try makeEcho()
        let client = try TestClient(authority) { $0.keptHeaders = ["apns-id", "retry-after"] }
        let response = try #require(try client.post("\(server.url)/a")?.get())
        #expect(response.headers == [HTTPHeader("apns-id", "id of /a")])
        #expect(response[header: "apns-id"] == "id of /a")
        #expect(response[header: "retry-after"] == nil)
        #expect(response.duration > .zero && response.duration < .seconds(30))
    }

    @Test("any status is an answer", arguments: [400, 404, 410, 429, 500, 503])
    func statuses(status: Int) throws {
        let server = try StandInServer(authority: authority) { _ in StandInAnswer(status: status, body: "why") }
        let response = try TestClient(authority).post(server.url)?.get()
        #expect(response?.status == status)
        #expect(response?.body == Array("why".utf8))
    }

    @Test("an answer may be as long as the limit, and no longer; the connection goes on")
    func bodyLimit() throws {
        let server = try StandInServer(authority: authority) { request in
            StandInAnswer(status: 200, body: String(repeating: "x", count: request.path == "/long" ? 1_001 : 1_000))
        }
        let client = try TestClient(authority) { $0.maxBody = 1_000 }
        #expect(try client.post("\(server.url)/")?.get().body.count == 1_000)
        #expect(client.post("\(server.url)/long") == .failure(.answerTooLarge))
        #expect(HTTPFailure.answerTooLarge.mayHaveArrived)
        #expect(try client.post("\(server.url)/")?.get().body.count == 1_000)
        #expect(client.client.connectionsOpened == 1)
    }

    @Test("of a header the first value counts that is no longer than 256 bytes")
    func firstValue() throws {
        let long = String(repeating: "9", count: 257)
        let server = try StandInServer(authority: authority) { _ in
            StandInAnswer(
                status: 503,
                headers: [("retry-after", long), ("retry-after", "7"), ("apns-id", "x"), ("retry-after", "99")])
        }
        let client = try TestClient(authority) { $0.keptHeaders = ["apns-id", "retry-after"] }
        let response = try #require(try client.post(server.url)?.get())
        #expect(response.headers == [HTTPHeader("retry-after", "7"), HTTPHeader("apns-id", "x")])
    }

    @Test("a head may be as long as the limit, and no longer; the request may have arrived, and the connection goes on")
    func headLimit() throws {
        // As RFC 9113 §6.5.2 counts, with 32 bytes for each field; the server adds the status and the body's length.
        let fixed = ":status200".utf8.count + "content-length0".utf8.count + 2 * 32
        let server = try StandInServer(authority: authority) { request in
            let count = Int(request.path.dropFirst()) ?? 0
            return StandInAnswer(
                status: 200, headers: [("date", String(repeating: "x", count: count - fixed - 32 - "date".utf8.count))])
        }
        let client = try TestClient(authority) { $0.keptHeaders = ["date"] }
        #expect(try client.post("\(server.url)/16384")?.get().headers == [])
        #expect(client.post("\(server.url)/16385") == .failure(.answerTooLarge))
        #expect(try client.post("\(server.url)/1000")?.get().status == 200)
        #expect(client.client.connectionsOpened == 1)
    }

    @Test("a head of 20 KB that unpacks to 58 MB is not kept, and the connection goes on")
    func packedHead() throws {
        // nghttp2 puts values of up to three quarters of the table's 4 KiB there, and repeats them in a byte each.
        let headers = [(name: String, value: String)](
            repeating: ("retry-after", String(repeating: "x", count: 2_900)), count: 20_000)
        let server = try StandInServer(authority: authority) { request in
            StandInAnswer(status: 503, headers: request.path == "/bomb" ? headers : [])
        }
        let client = try TestClient(authority) { $0.keptHeaders = ["retry-after"] }
        #expect(client.post("\(server.url)/bomb") == .failure(.answerTooLarge))
        #expect(try client.post(server.url)?.get().status == 503)
        #expect(client.client.connectionsOpened == 1)
    }

    @Test("a request that has waited for a stream for too long is not sent")
    func tooLate() throws {
        var faults = ConnectionFaults()
        faults.streams = 1
        let server = try StandInServer(authority: authority, faults: faults) { _ in
            var answer = StandInAnswer(status: 200)
            answer.course = .never
            return answer
        }
        let client = try TestClient(authority)
        client.client.submit([.to(server.url, tag: 1)])
        #expect(eventually { server.counts.requests == 1 })
        var request = HTTPRequest.to(server.url, tag: 2)
        let sendBy = ContinuousClock.now + .milliseconds(100)
        request.sendBy = sendBy
        client.client.submit([request])
        #expect(eventually { .now > sendBy })
        server.answerWaiting()
        let results = client.results(2)
        #expect(results.first { $0.tag == 1 }?.outcome.isAnswer == true)
        #expect(results.first { $0.tag == 2 }?.outcome == .failure(.tooLate))
        #expect(!HTTPFailure.tooLate.mayHaveArrived)
        #expect(server.counts.requests == 1)
    }

    @Test("a request that the server's flow control holds back past its time is reset, and never whole at the server")
    func heldBack() throws {
        var faults = ConnectionFaults()
        faults.window = 0
        let server = try makeEcho(faults)
        let client = try TestClient(authority) { $0.timeout = .seconds(2) }
        var late = HTTPRequest.to(server.url, tag: 1)
        late.sendBy = .now + .milliseconds(200)
        var inTime = HTTPRequest.to(server.url, tag: 2)
        inTime.sendBy = .now + .seconds(60)
        client.client.submit([late, inTime])
        #expect(client.results(1, within: 1).map(\.outcome) == [.failure(.tooLate)])
        #expect(eventually { server.counts.cancelled == 1 })
        faults.window = 1 << 20
        server.setFaults(faults)
        #expect(client.results(1).first { $0.tag == 2 }?.outcome.isAnswer == true)
        #expect(server.counts.requests == 1 && client.client.connectionsOpened == 1)
    }

    @Test("a request that is whole at the server in time waits for its answer; a time-out before that never arrived")
    func wholeInTime() throws {
        var faults = ConnectionFaults()
        let server = try StandInServer(authority: authority) { _ in
            var answer = StandInAnswer(status: 200)
            answer.course = .never
            return answer
        }
        let client = try TestClient(authority) { $0.timeout = .milliseconds(400) }
        var request = HTTPRequest.to(server.url, tag: 1)
        request.sendBy = .now + .milliseconds(150)
        client.client.submit([request])
        #expect(eventually { server.counts.requests == 1 })
        #expect(client.results(1).map(\.outcome) == [.failure(.timedOut(sent: true))])
        faults.window = 0
        server.setFaults(faults)
        #expect(client.post([.to(server.url, tag: 2)]).map(\.outcome) == [.failure(.timedOut(sent: false))])
        #expect(server.counts.requests == 1)
    }

    @Test("what was made before the process was stopped is not written when it continues, wherever it was stopped")
    func stopped() throws {
        let server = try makeEcho()
        // Every pause is longer.
        let client = try TestClient(authority) { $0.longestRound = .zero }
        let results = client.post((0..<10).map { .to(server.url, tag: $0) })
        #expect(results.count == 10)
        for result in results {
            guard case .failure(.connectionLost) = result.outcome else {
                Issue.record("\(result.outcome)")
                continue
            }
        }
        #expect(server.counts.requests == 0)
    }

    @Test("SETTINGS that allow fewer streams are obeyed, and no second connection is made")
    func fewerStreams() throws {
        var faults = ConnectionFaults()
        faults.streams = 7
        let server = try makeEcho(faults)
        let client = try TestClient(authority)
        // The first answer comes after the server's SETTINGS.
        _ = client.post(server.url)
        let results = client.post((0..<1_000).map { .to(server.url, tag: $0) })
        #expect(summary(results) == ["200": 1_000])
        #expect(server.counts.mostStreams <= 7)
        #expect(client.client.connectionsOpened == 1)
    }

    @Test("SETTINGS that change on an open connection are obeyed from then on")
    func changedStreams() throws {
        let server = try makeEcho()
        let client = try TestClient(authority)
        #expect(client.post((0..<500).map { .to(server.url, tag: $0) }).count == 500)
        var faults = ConnectionFaults()
        faults.streams = 1
        server.setFaults(faults)
        // With its answer the client has read the new SETTINGS.
        _ = client.post(server.url)
        let results = client.post((0..<500).map { .to(server.url, tag: $0) })
        #expect(summary(results) == ["200": 500])
        #expect(client.client.connectionsOpened == 1)
    }

    @Test("more connections are made only when every stream of the first is taken, and never more than allowed")
    func connections() throws {
        let server = try StandInServer(authority: authority) { _ in
            var answer = StandInAnswer(status: 200)
            answer.course = .never
            return answer
        }
        let client = try TestClient(authority) {
            $0.connections = 3
            $0.streams = 10
        }
        #expect(client.client.capacity == 30)
        client.client.submit((0..<10).map { .to(server.url, tag: $0) })
        #expect(eventually { server.counts.requests == 10 })
        #expect(client.client.connectionsOpened == 1)
        client.client.submit((10..<50).map { .to(server.url, tag: $0) })
        #expect(eventually { server.counts.requests == 30 })
        #expect(client.client.connectionsOpened == 3)
        #expect(server.counts.mostStreams <= 10)
        server.answerWaiting()
        #expect(eventually { server.counts.requests == 50 })
        server.answerWaiting()
        #expect(client.results(50).count { $0.outcome.isAnswer } == 50)
    }

    @Test(
        "a request that cannot be sent fails at once and says why; the next one is sent",
        arguments: [
            HTTPRequest.to("http://127.0.0.1/"), .to("ftp://127.0.0.1/"), .to("https://a b/"), .to(""),
            .to("https://127.0.0.1/", headers: [.init("name", "two\r\nlines")]),
            .to("https://127.0.0.1/", headers: [.init("na me", "x")]),
            .to("https://127.0.0.1/", headers: [.init("", "x")]), .to("https://127.0.0.1:99999/"),
        ])
    func invalid(request: HTTPRequest) throws {
        let server = try makeEcho()
        let client = try TestClient(authority)
        guard case .failure(let failure) = client.post([request]).first?.outcome, case .invalidRequest = failure else {
            Issue.record("accepted")
            return
        }
        #expect(!failure.mayHaveArrived)
        #expect(client.post(server.url)?.isAnswer == true)
    }
}

extension Result<HTTPResponse, HTTPFailure> {
    var isAnswer: Bool { if case .success = self { true } else { false } }
    var failure: HTTPFailure? { if case .failure(let failure) = self { failure } else { nil } }
}

/// How many results there are of each kind.
func summary(_ results: [HTTPResult]) -> [String: Int] {
    Dictionary(grouping: results) { result in
        switch result.outcome {
        case .success(let response): "\(response.status)"
        case .failure(let failure): "\(failure)"
        }
    }.mapValues(\.count)
}
