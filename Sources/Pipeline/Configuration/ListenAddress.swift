/// Where a server listens: `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464`, or `:9464` for every address of the machine.
public struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
    /// A name or an address; empty for every address of the machine.
    public var host: String
    public var port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// nil where the text is no such address. An IPv6 address stands in brackets; port 0 is no port.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.contains(where: { $0.isWhitespace || $0 == "/" }) else { return nil }
        self.init(host: String(host), port: port)
    }

    /// Where a client on the same machine reaches a server that listens here: loopback in place of every address.
    package var local: ListenAddress {
        switch host {
        case "", "0.0.0.0": ListenAddress(host: "127.0.0.1", port: port)
        case "::": ListenAddress(host: "::1", port: port)
        default: self
        }
    }

    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
