import Testing

@testable import HTTPServer

// In the suite that counts the open files of the process.
extension SlowClientsTests {
    /// With epoll libmicrohttpd 0.9.75 waits for ever where 128 sockets are ready at once.
    @Test("so many connections are answered that are all busy", arguments: [64, 127, 128, 256, 512, 1000])
    func busy(count: Int) throws {
        let files = OpenFiles(3000)
        defer { files.restore() }
        var limits = HTTPLimits()
        (limits.connections, limits.connectionsOfAnAddress) = (1000, 1000)
        let server = try HTTPServer(host: "127.0.0.1", port: 0, limits: limits, handler: EchoHandler())
        let clients = try (0..<count).map { _ in try RawClient(port: server.port) }
        // The best of ten rounds: a loop that waits although sockets are ready does so in each, a busy machine in some.
        var rate = 0.0
        for _ in 0..<10 {
            let start = ContinuousClock.now
            for client in clients { client.send(part: "POST /x HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nab") }
            for client in clients { #expect(try client.receive().body == "ab") }
            rate = max(rate, Double(count) / ((.now - start) / .seconds(1)))
        }
        #expect(rate > 500, "\(Int(rate)) requests a second with \(count) connections")
    }
}
