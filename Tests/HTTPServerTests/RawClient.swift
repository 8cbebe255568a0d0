import Glibc

/// Writes a request unchanged and reads one response, so that no HTTP library repairs either.
final class RawClient {
    struct Failure: Error {
        var call: String
        var code: Int32
    }

    struct Answer {
        var status: Int
        /// By their names in lower case.
        var headers: [String: String]
        var body: String
    }

    private let descriptor: Int32
    private var received: [UInt8] = []

    /// - Parameter host: the last number of the address of loopback that it comes from.
    init(port: UInt16, from host: UInt32 = 1) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        if host != 1 {
            var source = sockaddr_in()
            source.sin_family = sa_family_t(AF_INET)
            source.sin_addr.s_addr = (UInt32(0x7F00_0000) + host).bigEndian
            let bound = withUnsafePointer(to: &source) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
            }
            guard bound == 0 else { throw Failure(call: "bind", code: errno) }
        }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard result == 0 else { throw Failure(call: "connect", code: errno) }
    }

    deinit {
        close(descriptor)
    }

    func ask(_ lines: String..., body: String = "") throws -> Answer {
        let request = (lines.prefix(1) + ["Host: test"] + lines.dropFirst()).joined(separator: "\r\n")
        guard send(part: request + "\r\n\r\n" + body) else { throw Failure(call: "send", code: errno) }
        return try receive(isHead: lines[0].hasPrefix("HEAD"))
    }

    /// Sends a part of a request.
    ///
    /// - Returns: false if the server has closed the connection.
    @discardableResult
    func send(part: String) -> Bool {
        let bytes = Array(part.utf8)
        return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// Waits for the server's end of the connection.
    func isClosed(within milliseconds: Int32) -> Bool {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, milliseconds) > 0 else { return false }
        var buffer = [UInt8](repeating: 0, count: 4096)
        return recv(descriptor, &buffer, buffer.count, 0) <= 0
    }

    /// Waits for one answer; what comes behind it is kept.
    func receive(isHead: Bool = false) throws -> Answer {
        while true {
            if let answer = parse(isHead: isHead) { return answer }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { throw Failure(call: "recv", code: count == 0 ? 0 : errno) }
            received += buffer[..<count]
        }
    }

    /// nil while there is more to come.
    private func parse(isHead: Bool) -> Answer? {
        let bytes = received
        let separator = Array("\r\n\r\n".utf8)
        let ends = bytes.indices.dropLast(3).first { Array(bytes[$0..<$0 + 4]) == separator }
        guard let end = ends else { return nil }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        }
        let body = bytes[(end + 4)...]
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        guard isHead || body.count >= length else { return nil }
        received = isHead ? [] : Array(body.dropFirst(length))
        return Answer(
            status: words.count > 1 ? Int(words[1]) ?? 0 : 0, headers: headers,
            body: String(decoding: body.prefix(length), as: UTF8.self))
    }
}
