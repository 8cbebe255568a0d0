import HTTPServer
import Pipeline

/// Who has sent a request that came through proxies: what `X-Forwarded-For` says, as far as a trusted proxy has written it.
enum ForwardedClient {
    /// More are not looked at: a client may send thousands.
    static let mostHops = 16

    /// The last address, from the right, that no trusted proxy has: what is left of it anybody may have written.
    ///
    /// - Parameter networks: those of the trusted proxies.
    static func address(of head: IncomingRequest, trusting networks: [IPNetwork]) -> String {
        guard var client = IPAddress(head.peer) else { return head.peer }
        var hops = 0
        for header in head.headers.reversed() where header.name == "x-forwarded-for" {
            var rest = header.value.utf8[...]
            while hops < mostHops, networks.contains(where: { $0.contains(client) }) {
                let comma = rest.lastIndex(of: UInt8(ascii: ","))
                let hop = comma.map { rest[rest.index(after: $0)...] } ?? rest
                guard let address = IPAddress(host(of: Substring(hop).trimmed)) else { return client.description }
                client = address
                hops += 1
                guard let comma else { break }
                rest = rest[..<comma]
            }
        }
        return client.description
    }

    /// Some proxies write `192.0.2.7:5678` and `[2001:db8::7]:5678`.
    private static func host(of hop: Substring) -> Substring {
        if hop.first == "[", let end = hop.firstIndex(of: "]") { return hop[..<end].dropFirst() }
        guard let colon = hop.firstIndex(of: ":"), colon == hop.lastIndex(of: ":") else { return hop }
        return hop[..<colon]
    }
}
