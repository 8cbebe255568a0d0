import Foundation

/// A listening TCP socket; closed at its end unless a new owner has taken it.
struct ListeningSocket: ~Copyable {
    private let descriptor: Int32
    /// The port it listens on: the system's choice if 0 was requested.
    let port: UInt16

    /// - Parameters:
    ///   - host: a name or an address; empty for every address of this machine.
    ///   - port: 0 for any free one.
    init(host: String, port: UInt16) throws(HTTPServerError) {
        let address = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        let lookUp = getaddrinfo(host.isEmpty ? nil : host, "\(port)", &hints, &found)
        defer { if found != nil { freeaddrinfo(found) } }
        guard lookUp == 0, let first = found?.pointee else {
            throw HTTPServerError(address: address, reason: String(cString: gai_strerror(lookUp)))
        }
        let type = first.ai_socktype | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(first.ai_family, type, first.ai_protocol)
        guard descriptor >= 0 else { throw HTTPServerError(address: address, reason: Self.systemReason()) }
        // Lets a restarted server bind although connections of its predecessor are in TIME_WAIT.
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard bind(descriptor, first.ai_addr, first.ai_addrlen) == 0, listen(descriptor, SOMAXCONN) == 0 else {
            let reason = Self.systemReason()
            close(descriptor)
            throw HTTPServerError(address: address, reason: reason)
        }
        self.port = Self.boundPort(of: descriptor) ?? port
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Hands the descriptor to a new owner, who closes it.
    consuming func take() -> Int32 {
        let descriptor = self.descriptor
        discard self
        return descriptor
    }

    private static func systemReason() -> String {
        errno == EADDRINUSE ? "the port is in use" : String(cString: strerror(errno))
    }

    private static func boundPort(of descriptor: Int32) -> UInt16? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> UInt16? in
                guard getsockname(descriptor, address, &size) == 0 else { return nil }
                // The port is at the same offset in both families, in network order.
                return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    UInt16(bigEndian: $0.pointee.sin_port)
                }
            }
        }
    }
}
