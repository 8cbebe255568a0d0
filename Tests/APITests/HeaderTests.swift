import HTTPServer
import Pipeline
import Testing

@testable import API

@Suite("API: headers") struct HeaderTests {
    @Test(
        "a body is read if its type is one of those, in UTF-8",
        arguments: [
            ("application/json", true), ("Application/JSON", true), ("application/json;charset=UTF-8", true),
            ("application/json ; charset=\"utf-8\" ;", true), ("application/json; profile=\"a;b\"", true),
            ("application/json; charset=latin1", false), ("application/json; charset", false), ("text/json", false),
            ("application/json, text/plain", false), ("application", false), ("application/json/x", false), ("", false),
            ("application/ json", false), ("application/json; charset=\"utf-8", false), ("/", false), (";", false),
        ])
    func contentType(header: String, isReadable: Bool) {
        #expect(MediaType.isReadable(header, as: ["application/json"]) == isReadable)
        #expect(!MediaType.isReadable(nil, as: ["application/json"]))
    }

    @Test(
        "an answer is acceptable by the most exact range, and where nothing is said",
        arguments: [
            ([], true), (["*/*"], true), (["application/*"], true), (["text/html, application/json;q=0.1"], true),
            (["text/html"], false), (["text/html", "application/json"], true), (["*/*;q=0"], false),
            (["application/json;q=0, */*"], false), (["application/*;q=0.0, application/json;q=1.000"], true),
            (["text/*;q=1, */*;q=0.001"], true), ([""], true), (["nonsense"], true),
            (["a/b;x=\"c,application/json\""], false),
        ])
    func accept(headers: [String], isAcceptable: Bool) {
        #expect(MediaType.isAcceptable("application/json", headers) == isAcceptable)
    }

    @Test(
        "a client is the last address that no trusted proxy has; what is left of it is not looked at",
        arguments: [
            ("192.0.2.1", ["203.0.113.9"], "192.0.2.1"), ("10.0.0.1", [], "10.0.0.1"), ("", ["203.0.113.9"], ""),
            ("10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1", ["1.1.1.1,203.0.113.9 ,\t10.9.9.9"], "203.0.113.9"),
            ("10.0.0.1", ["1.1.1.1", "203.0.113.9, 10.9.9.9", "10.8.8.8"], "203.0.113.9"),
            ("10.0.0.1", ["10.0.0.3", "10.0.0.2"], "10.0.0.3"), ("10.0.0.1", [""], "10.0.0.1"),
            ("10.0.0.1", ["203.0.113.9, unknown"], "10.0.0.1"), ("10.0.0.1", ["203.0.113.9, 10.0.0.2,"], "10.0.0.1"),
            ("10.0.0.1", ["203.0.113.9:443"], "203.0.113.9"), ("10.0.0.1", ["[2001:db8::7]:443"], "2001:db8::7"),
            ("10.0.0.1", ["2001:DB8:0::7"], "2001:db8::7"), ("::ffff:10.0.0.1", ["::ffff:203.0.113.9"], "203.0.113.9"),
            ("fd00::1", ["203.0.113.9"], "203.0.113.9"), ("fe00::1", ["203.0.113.9"], "fe00::1"),
            ("10.0.0.1", ["fe80::1%eth0"], "10.0.0.1"),
            ("10.0.0.1", [String(repeating: "1", count: 10_000)], "10.0.0.1"),
        ])
    func forwarded(peer: String, headers: [String], client: String) {
        var head = IncomingRequest(method: "GET", target: "/", headers: headers.map { .init("x-forwarded-for", $0) })
        head.headers.append(.init("forwarded", "for=198.51.100.1"))
        head.peer = peer
        let networks = ["10.0.0.0/8", "fd00::/8"].compactMap(IPNetwork.init)
        #expect(ForwardedClient.address(of: head, trusting: networks) == client)
        #expect(ForwardedClient.address(of: head, trusting: []) == (IPAddress(peer)?.description ?? ""))
    }

    @Test("of a header with thousands of trusted addresses the last sixteen are looked at")
    func manyHops() {
        let hops = (0..<2000).map { "10.0.\($0 / 250).\($0 % 250)" }
        let networks = ["10.0.0.0/8"].compactMap(IPNetwork.init)
        for headers in [[hops.joined(separator: ",")], hops] {
            var head = IncomingRequest(
                method: "GET", target: "/", headers: headers.map { .init("x-forwarded-for", $0) })
            head.peer = "10.1.1.1"
            #expect(ForwardedClient.address(of: head, trusting: networks) == hops[2000 - ForwardedClient.mostHops])
        }
    }

    @Test(
        "an idempotency key is the same in quotes and without",
        arguments: [
            ("abc", "abc"), ("\"abc\"", "abc"), ("a:b/c", "a:b/c"), ("", nil), ("\"\"", nil), ("\"", nil), ("a b", nil),
            ("\"a\\\"b\"", nil), ("a\"b", nil), ("ä", nil), ("a\u{7F}", nil), (String(repeating: "a", count: 256), nil),
        ] as [(String, String?)])
    func idempotencyKey(header: String, key: String?) {
        #expect(IdempotencyKey.read(header) == key)
        #expect(IdempotencyKey.read(String(repeating: "a", count: 255)) != nil)
    }
}
