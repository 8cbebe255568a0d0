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
