import Testing

@testable import Pipeline

@Suite struct ListenAddressTests {
    @Test(
        "an address is a host and a port, and is written as it was read",
        arguments: [
            ("127.0.0.1:9464", "127.0.0.1", 9464), ("localhost:80", "localhost", 80), (":1", "", 1),
            ("[::1]:65535", "::1", 65535),
        ])
    func addresses(_ text: String, _ host: String, _ port: UInt16) throws {
        let address = try #require(ListenAddress(text))
        #expect(address == ListenAddress(host: host, port: port))
        #expect(address.description == text)
    }

    @Test(
        "anything else is none",
        arguments: [
            "", "9464", "localhost", "localhost:", "localhost:0", "localhost:65536", "localhost:-1", "::1:9464",
            "http://localhost:9464", "local host:9464", "localhost:9464/metrics",
        ])
    func noAddresses(_ text: String) {
        #expect(ListenAddress(text) == nil)
    }
}
