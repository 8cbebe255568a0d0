import HTTPServer
import Testing
import Time

@testable import API

@Suite("API: calls of an app's users") struct UserCallTests {
    private let key = APIKey(.live)
    private let shop: Shop
    private let handler: APIHandler

    init() throws {
        shop = try Shop.shared()
        let answer: @Sendable (Call) throws(Problem) -> Endpoint.Reply = { call throws(Problem) in
            .now(
                call.response(
                    .ok, ["user": .text(call.user?.subject ?? "none"), "key": .text(call.key?.id ?? "none")]))
        }
        let told = [APIOperation.Response(.ok, "told")]
        let own = APIOperation(
            "own", .get, "/v1/own", "Tells.", scopes: [.readDevices], isForUsers: true, responses: told)
        let sends = APIOperation("sends", .get, "/v1/sends", "Sends.", scopes: [.send], responses: told)
        handler = APIHandler(
            Router([Endpoint(own, answer), Endpoint(sends, answer)]),
            KeyRing([KeyEntry(key, scopes: [.readDevices, .send])]), .live, rate: 1_000,
            APIHandler.Surroundings(now: { Shop.now }, requestID: { "req_1" }, chance: { 0 }))
        handler.replace(try shop.list([try shop.entry(.es256)]))
    }

    private func ask(_ credential: String, _ target: String = "/v1/own") -> HTTPResponse {
        let request = IncomingRequest(
            method: "GET", target: target, headers: [.init("authorization", "Bearer " + credential)])
        switch handler.admit(request) {
        case .refuse(let response): return response
        case .read(_, let answer):
            switch answer(request) {
            case .now(let response): return response
            case .later(let exchange, _): return exchange.wait()
            }
        }
    }

    private func token(_ claims: [String: String?] = [:]) throws -> String {
        String(decoding: try shop.token(claims: claims), as: UTF8.self)
    }

    @Test("a token lets its person call what is for users, and a key still does; a token never sends")
    func calls() throws {
        #expect(ask(try token()).body == #"{"user":"17","key":"none"}"#)
        #expect(ask(key.text).body == #"{"user":"none","key":"\#(key.id)"}"#)
        let sent = ask(try token(), "/v1/sends")
        #expect(sent.status == .unauthorized && sent.body.contains("unknown-key"))
    }

    @Test("a token that is not accepted is told why, without a part of it")
    func refused() throws {
        let expired = ask(try token(["exp": "\(Shop.now.milliseconds / 1_000 - 600)", "iat": "1"]))
        #expect(expired.status == .unauthorized)
        let wrong = try token() + "x"
        let answer = ask(wrong)
        #expect(answer.status == .unauthorized && answer.body.contains("bad-token"))
        #expect(!answer.body.contains(wrong))
    }

    @Test("from one address 60 tokens a minute are refused, and then none is looked at")
    func attacks() throws {
        for _ in 0..<60 { #expect(ask("a.b.c").status == .unauthorized) }
        let answer = ask(try token())
        #expect(answer.status == .tooManyRequests)
        #expect(answer.headers.contains { $0.name == "Retry-After" && $0.value == "60" })
        #expect(ask(key.text).status == .ok)
    }

    @Test("of IPv6 tokens are counted by the network of 64 bits, of IPv4 by address")
    func networks() throws {
        func refused(from peer: String) -> Int {
            var head = IncomingRequest(
                method: "GET", target: "/v1/own", headers: [.init("authorization", "Bearer a.b.c")])
            head.peer = peer
            guard case .refuse(let response) = handler.admit(head) else { return 0 }
            return Int(response.status.rawValue)
        }
        for number in 0..<60 { #expect(refused(from: "2001:db8:0:7:\(number)::1") == 401) }
        #expect(refused(from: "2001:db8:0:7::") == 429 && refused(from: "2001:db8:0:8::1") == 401)
        for number in 0..<60 { #expect(refused(from: "198.51.100.\(number)") == 401) }
        for _ in 0..<60 { #expect(refused(from: "::ffff:203.0.113.7") == 401) }
        #expect(refused(from: "203.0.113.7") == 429 && refused(from: "203.0.113.8") == 401)
    }

    @Test("a person sends 120 requests a minute, another one is not touched by it")
    func quota() throws {
        for _ in 0..<120 { #expect(ask(try token()).status == .ok) }
        #expect(ask(try token()).status == .tooManyRequests)
        #expect(ask(try token(["sub": #""18""#])).status == .ok)
    }

    @Test("what answers a call does not get the secret that let it in")
    func secret() throws {
        let operation = APIOperation(
            "echo", .get, "/v1/echo", "Tells.", scopes: [.readDevices], isForUsers: true, isForDevices: true,
            responses: [APIOperation.Response(.ok, "told")])
        let echo = Endpoint(operation) { call in
            .now(call.response(.ok, .list(call.request.headers.map { .text($0.name) })))
        }
        let handler = APIHandler(
            Router([echo]), KeyRing([KeyEntry(key, scopes: [.readDevices])]), .live, rate: 1_000,
            APIHandler.Surroundings(now: { Shop.now }, requestID: { "req_1" }, chance: { 0 }))
        handler.replace(try shop.list([try shop.entry(.es256)]))
        for credential in [
            "Bearer \(try token())", "Bearer \(key.text)", "Device installation-0001:\(APIKey.randomDigits(43))",
        ] {
            let request = IncomingRequest(
                method: "GET", target: "/v1/echo",
                headers: [.init("authorization", credential), .init("accept", "*/*")])
            guard case .read(_, let answer) = handler.admit(request), case .now(let response) = answer(request) else {
                Issue.record("it was refused")
                continue
            }
            #expect(response.body == #"["accept"]"#)
        }
    }

    @Test("without issuers no token is accepted")
    func none() throws {
        handler.replace(try shop.list([]))
        #expect(ask(try token()).body.contains("bad-token"))
    }
}
