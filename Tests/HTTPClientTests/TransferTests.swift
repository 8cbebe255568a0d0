import Testing

@testable import HTTPClient

@Suite("HTTPClient: a request's answer") struct TransferTests {
    @Test("heads below 200, the head and the trailers count together, and each request begins anew")
    func headSize() {
        let transfer = Transfer()
        for _ in 0..<2 {
            transfer.begin(
                HTTPRequest(tag: 1, url: "https://test/", headers: [], body: []), at: 0, within: 1, longestWait: 1,
                instant: .now)
            transfer.beginHead()
            #expect(transfer.received(fieldOf: 10, limit: 200))
            Array("103".utf8).withUnsafeBytes { transfer.received(status: $0) }
            transfer.beginHead()
            #expect(transfer.received(fieldOf: 10, limit: 200))
            Array("200".utf8).withUnsafeBytes { transfer.received(status: $0) }
            transfer.beginHead()
            #expect(transfer.received(fieldOf: 84, limit: 200))
            #expect(!transfer.received(fieldOf: 0, limit: 200))
            _ = transfer.end()
        }
    }
}
