import Testing

@testable import ProviderStandIn

@Suite("Requests by HTTP/1.1") struct HTTP1ReaderTests {
    private static let text =
        "POST /token?x=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nAuthorization:Bearer a:b\r\n\r\nhello"
        + "GET /other HTTP/1.1\r\n\r\n"

    @Test("a request is read when it is there as a whole, however its bytes come", arguments: [1, 7, 1_000])
    func pieces(size: Int) throws {
        var reader = HTTP1Reader()
        var found: [StandInRequest] = []
        let bytes = Array(Self.text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            Array(bytes[start..<min(start + size, bytes.count)]).withUnsafeBytes { reader.append($0) }
            while let request = try reader.next(connection: 3) { found.append(request) }
        }
        #expect(found.map(\.method) == ["POST", "GET"])
        #expect(found.map(\.path) == ["/token?x=1", "/other"])
        #expect(found.map { String(decoding: $0.body, as: UTF8.self) } == ["hello", ""])
        #expect(found.first?[header: "authorization"] == "Bearer a:b")
        #expect(found.first?.connection == 3)
    }

    @Test(
        "what is no request is an error",
        arguments: [
            "PRI * HTTP/2.0\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        ])
    func nonsense(text: String) {
        var reader = HTTP1Reader()
        Array(text.utf8).withUnsafeBytes { reader.append($0) }
        #expect(throws: StandInError.self) { _ = try reader.next(connection: 1) }
    }

    @Test("an answer says its length")
    func answer() {
        let answer = StandInAnswer(status: 404, headers: [("retry-after", "3")], body: "no")
        let text = String(decoding: HTTP1Reader.bytes(of: answer), as: UTF8.self)
        #expect(text == "HTTP/1.1 404 \r\ncontent-length: 2\r\nretry-after: 3\r\n\r\nno")
    }
}
