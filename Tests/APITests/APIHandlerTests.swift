import HTTPServer
import JSONReader
import Notifications
import Pipeline
import Synchronization
import Testing
import Time

@testable import API

@Suite("API: from the head of a request to its answer") struct APIHandlerTests {
    private let key = APIKey(.live)
    private let handler: APIHandler
    private let clock = Clock()

    private final class Clock: Sendable {
        let now = Mutex(WallTime(milliseconds: 1_764_000_000_000))
        let answered = Mutex<[String]>([])
        let clients = Mutex<[String]>([])
    }

    init() throws {
        let requests = APIOperation(
            "putRequest", .put, "/v1/requests/{request_id}", "Sends.", scopes: [.send],
            query: [APIOperation.Parameter("dry_run", "Sends nothing.", ["type": "string"])],
            body: APIOperation.Body(["type": "object"], largest: 1000),
            responses: [APIOperation.Response(.accepted, "recorded")])
        let other = APIOperation(
            "getRequest", .get, "/v1/requests/{request_id}", "Tells.", scopes: [.send, .readTraces],
            responses: [APIOperation.Response(.ok, "told")])
        let traces = APIOperation(
            "explain", .get, "/v1/explain", "Explains.", scopes: [.readTraces],
            responses: [APIOperation.Response(.ok, "told")])
        let echo: @Sendable (Call) throws(Problem) -> Endpoint.Reply = { call throws(Problem) in
            if call.request.body == Array("bad".utf8) {
                var problem = Problem(.badRequest, "a is missing; allowed is a text")
                problem.faults = [Problem.Fault(pointer: "/a", .badRequest, code: "missing", detail: problem.detail)]
                throw problem
            }
            return .now(
                call.response(
                    .accepted,
                    [
                        "operation": .text(call.operation?.name ?? ""),
                        "path": .list(call.pathValues.map(Document.text)),
                        "body": .text(String(decoding: call.request.body, as: UTF8.self)),
                    ]))
        }
        let endpoints =
            [Endpoint(requests, echo), Endpoint(other, echo), Endpoint(traces, echo)] + ContractEndpoints.make { [:] }
        let clock = clock
        handler = APIHandler(
            Router(endpoints), KeyRing([KeyEntry(key, scopes: [.send])]), .live, rate: 5,
            proxies: [try #require(IPNetwork("127.0.0.0/8"))],
            APIHandler.Surroundings(
                now: { clock.now.withLock { $0 } }, requestID: { "req_1" }, chance: { 0 },
                answered: { call, status, _ in
                    clock.clients.withLock { $0.append(call.client) }
                    clock.answered.withLock { $0.append("\(call.operation?.name ?? "none") \(status.rawValue)") }
                }))
    }

    /// - Parameter key: nil for the one that may send, empty for none.
    private func ask(
        _ method: String, _ target: String, key: String? = nil, _ headers: [(String, String)] = [], body: String = ""
    ) -> (answer: HTTPResponse, isRead: Bool) {
        let key = key ?? self.key.text
        var all = headers.map { IncomingRequest.Header($0.0, $0.1) }
        if !key.isEmpty { all.append(IncomingRequest.Header("authorization", "Bearer " + key)) }
        var request = IncomingRequest(method: method, target: target, headers: all)
        request.peer = "127.0.0.1"
        switch handler.admit(request) {
        case .refuse(let response): return (response, false)
        case .read(_, let answer):
            request.body = Array(body.utf8)
            switch answer(request) {
            case .now(let response): return (response, true)
            case .later: return (HTTPResponse(body: ""), true)
            }
        }
    }

    private let json = [("content-type", "application/json")]

    private func header(_ response: HTTPResponse, _ name: String) -> String? {
        response.headers.first { $0.name == name }?.value
    }

    @Test("a request is routed with the decoded parts of its path, and HEAD as GET")
    func routed() {
        let put = ask("PUT", "/v1/requests/a%2Fb?dry_run=1", json, body: "{}")
        #expect(put.answer.status == .accepted)
        #expect(put.answer.body == #"{"operation":"putRequest","path":["a/b"],"body":"{}"}"#)
        #expect(header(put.answer, "X-Request-Id") == "req_1")
        #expect(header(put.answer, "RateLimit") == #""key";r=9;t=1"#)
        #expect(ask("HEAD", "/v1/requests/x").answer.status == .accepted)
        #expect(ask("GET", "/v1/requests/x").answer.body.contains("getRequest"))
    }

    @Test(
        "what cannot be routed is refused before the body is read, with a problem that says what is allowed",
        arguments: [
            ("GET", "/v1/requests/", [], 404, "not-found"), ("GET", "/v1/requests", [], 404, "not-found"),
            ("GET", "//v1/requests/x", [], 404, "not-found"), ("GET", "/v1/requests/x/", [], 404, "not-found"),
            ("GET", "/v1/requests/..%2f", [], 202, ""), ("GET", "/v1/requests/%00", [], 400, "bad-path"),
            ("GET", "/v1/requests/%ff", [], 400, "bad-path"), ("GET", "/v1/requests/x?y=1", [], 400, "bad-path"),
            ("PUT", "/v1/requests/x?dry_run=1&dry_run=1", [("content-type", "application/json")], 400, "bad-path"),
            ("get", "/v1/requests/x", [], 405, "method-not-allowed"),
            ("TRACE", "/v1/requests/x", [], 405, "method-not-allowed"),
            ("DELETE", "/v1/requests/x", [], 405, "method-not-allowed"),
            ("GET", "/v1/requests/x", [("accept", "text/html")], 406, "not-acceptable"),
            ("PUT", "/v1/requests/x", [], 415, "media-type"),
            ("PUT", "/v1/requests/x", [("content-type", "text/plain")], 415, "media-type"),
            (
                "PUT", "/v1/requests/x", [("content-type", "application/json"), ("content-encoding", "gzip")], 415,
                "media-type"
            ),
            (
                "PUT", "/v1/requests/x", [("content-type", "application/json"), ("content-type", "application/json")],
                415,
                "media-type"
            ),
        ])
    func notRouted(method: String, target: String, headers: [(String, String)], status: Int, code: String) {
        let (answer, isRead) = ask(method, target, headers)
        #expect(Int(answer.status.rawValue) == status)
        guard status >= 400 else { return }
        #expect(!isRead)
        #expect(answer.contentType == "application/problem+json")
        #expect(answer.body.contains("\"code\":\"\(code)\""))
        if status == 405 { #expect(header(answer, "Allow") == "GET, HEAD, PUT") }
    }

    @Test("without a key that may, the body is not read; nothing that is answered has the key or what the query has")
    func credentials() {
        let wrong = String(key.text.dropLast()) + (key.text.last == "a" ? "b" : "a")
        for (key, status, challenge) in [
            ("", HTTPResponse.Status.unauthorized, #"Bearer realm="carillon""#),
            (wrong, .unauthorized, #"Bearer realm="carillon", error="invalid_token""#),
            (APIKey(.test).text, .unauthorized, #"Bearer realm="carillon", error="invalid_token""#),
            (APIKey(.live).text, .unauthorized, #"Bearer realm="carillon", error="invalid_token""#),
        ] {
            let (answer, isRead) = ask("PUT", "/v1/requests/x?dry_run=secret&more=1", key: key, [])
            #expect(answer.status == status && !isRead)
            #expect(header(answer, "WWW-Authenticate") == challenge)
            #expect(!answer.body.contains("crl_") && !answer.body.contains("secret"))
        }
        for answer in [ask("GET", "/\(key.text)"), ask("GET", "/problems/\(key.text)"), ask("GET", "/%00\(key.text)")] {
            #expect(!answer.answer.body.contains("crl_"))
        }
        let (answer, isRead) = ask("GET", "/v1/explain")
        #expect(answer.status == .forbidden && !isRead)
        #expect(answer.body.contains("needed is trace:read"))
        #expect(ask("GET", "/openapi.json", key: "").answer.status == .ok)
    }

    @Test("a key has its rate; who is refused hears when to come back, and others are not concerned")
    func rates() {
        for _ in 0..<10 { #expect(ask("GET", "/v1/requests/x").answer.status == .accepted) }
        let (answer, isRead) = ask("GET", "/v1/requests/x")
        #expect(answer.status == .tooManyRequests && !isRead)
        #expect(header(answer, "Retry-After") == "2")
        #expect(header(answer, "RateLimit") == #""key";r=0;t=2"#)
        #expect(answer.body.contains("http-problem-types#quota-exceeded"))
        #expect(ask("GET", "/openapi.json", key: "").answer.status == .ok)
        clock.now.withLock { $0 += 200 }
        #expect(ask("GET", "/v1/requests/x").answer.status == .accepted)
    }

    @Test("a file of keys that was read again holds at once")
    func replaced() {
        #expect(ask("GET", "/v1/requests/x").answer.status == .accepted)
        handler.replace(KeyRing([]))
        #expect(ask("GET", "/v1/requests/x").answer.status == .unauthorized)
        handler.replace(KeyRing([KeyEntry(key, scopes: [.readTraces])]))
        #expect(ask("GET", "/v1/requests/x").answer.status == .accepted)
    }

    @Test("what an endpoint finds is a problem with its places, and what the key has left")
    func problems() {
        let answer = ask("PUT", "/v1/requests/x?dry_run=1", json, body: "bad").answer
        #expect(
            answer.body
                == #"{"type":"/problems/bad_request","title":"The request cannot be used","status":422,"#
                + #""detail":"a is missing; allowed is a text","code":"bad_request","#
                + #""errors":[{"pointer":"/a","code":"missing","detail":"a is missing; allowed is a text"}],"request":"req_1"}"#
        )
        #expect(header(answer, "RateLimit") != nil && header(answer, "Cache-Control") == "no-store")
    }

    @Test("every kind of problem has a page, and what the server refuses is one of them")
    func pages() {
        for code in ProblemCode.allCases {
            let answer = ask("GET", "/problems/\(code.rawValue)", key: "").answer
            #expect(answer.status == .ok && answer.body.contains("\"status\":\(code.status.rawValue)"))
        }
        #expect(ask("GET", "/problems/other", key: "").answer.status == .notFound)
        for refusal in [
            HTTPRefusal.malformed("x"), .targetTooLong(atMost: 1), .headTooLarge(atMost: 1), .bodyTooLarge(atMost: 1),
            .overloaded, .draining,
        ] {
            let answer = handler.response(to: refusal)
            #expect(answer.status == refusal.status)
            #expect((header(answer, "Retry-After") != nil) == refusal.isPassing)
        }
    }

    @Test("what the server refuses by itself is counted as every answer is, also where it could not be read")
    func counted() {
        _ = ask("GET", "/v1/requests/x")
        _ = handler.response(to: .headTooLarge(atMost: 1))
        handler.refused(.badRequest)
        #expect(clock.answered.withLock { $0 } == ["getRequest 202", "none 431", "none 400"])
    }

    @Test("the log hears from which address a client came, also where it is refused, and not of what a client claims")
    func client() {
        _ = ask("GET", "/v1/requests/x", [("x-forwarded-for", "203.0.113.1, 192.0.2.7")])
        _ = ask("GET", "/", key: "", [("x-forwarded-for", "192.0.2.8")])
        _ = ask("GET", "/")
        handler.refused(.badRequest)
        #expect(clock.clients.withLock { $0 } == ["192.0.2.7", "192.0.2.8", "127.0.0.1", ""])
    }
}
