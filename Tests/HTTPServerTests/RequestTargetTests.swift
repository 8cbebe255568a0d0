import Testing

@testable import HTTPServer

@Suite("HTTP server: path and query") struct RequestTargetTests {
    @Test(
        "each segment is decoded once, so that a slash in one is not a slash between two",
        arguments: [
            ("/", [""]), ("/v1/requests/a", ["v1", "requests", "a"]), ("/place%2F42", ["place/42"]),
            ("/a%252Fb", ["a%2Fb"]), ("/..%2f", ["../"]), ("/..", [".."]), ("//a/", ["", "a", ""]), ("/a+b", ["a+b"]),
            ("/%C3%A4", ["ä"]),
        ])
    func path(text: String, segments: [String]) {
        #expect(RequestTarget(text)?.path == segments)
        #expect(RequestTarget(text)?.query == [])
    }

    @Test(
        "what is no path or query is none",
        arguments: [
            "", "a", "*", "http://host/a", "/%", "/%2", "/%zz", "/%+1", "/%00", "/a%0Ab", "/%7f", "/%ff", "/%C3",
            "/%ed%a0%80", "/ä",
            "/a b", "/a\u{1}", "/a?%ff=1", "/a?b=%00", "/a?%=",
        ])
    func none(text: String) {
        #expect(RequestTarget(text) == nil)
    }

    @Test("a query has its parameters in their order, also repeated, empty and without a value")
    func query() {
        let target = RequestTarget("/a?b=1&b=%26%3D=&&c&=d&e=f?g")
        #expect(target?.path == ["a"])
        #expect(
            target?.query.map { [$0.name, $0.value] } == [
                ["b", "1"], ["b", "&=="], ["c", ""], ["", "d"], ["e", "f?g"],
            ])
    }
}
