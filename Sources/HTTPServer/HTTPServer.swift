import CMicrohttpd
import Dispatch
import Glibc

/// A small HTTP/1.1 server for pages that a person or a monitoring system requests: GET and HEAD, over libmicrohttpd.
///
/// It owns one thread, which handles one request at a time: a handler that blocks delays all others. Connections are bounded
/// in number and time (``OpenConnections``), so that slow ones keep nobody else out. No TLS: it is meant for the host itself
/// or for a trusted network.
package final class HTTPServer {
    /// - Parameter path: without the query, percent-decoded.
    /// - Returns: nil if there is no such page; the server then answers 404.
    package typealias Handler = @Sendable (_ path: String) -> HTTPResponse?

    /// The port it listens on: the system's choice if 0 was requested.
    package let port: UInt16
    private var daemon: OpaquePointer?
    private let pages: Pages

    /// Looks for connections that take too long.
    private let sweeper: any DispatchSourceTimer

    /// What libmicrohttpd takes: room for those that were told to end and are not closed yet. It accepts one at a time, and
    /// stops where this number is reached.
    private static let connectionLimit = UInt32(OpenConnections.most + 32)

    /// Starts to listen and serve.
    ///
    /// - Parameters:
    ///   - host: a name or an address; empty for every address of this machine.
    ///   - port: 0 for any free one.
    package init(host: String, port: UInt16, handler: @escaping Handler) throws(HTTPServerError) {
        let socket = try ListeningSocket(host: host, port: port)
        let boundPort = socket.port
        let descriptor = socket.take()
        let pages = Pages(handler)
        // The server keeps the pages alive for longer than the daemon's thread runs.
        let context = Unmanaged.passUnretained(pages).toOpaque()
        guard let daemon = cmicrohttpd_start(descriptor, Self.connectionLimit, answer, notify, completed, context)
        else {
            close(descriptor)
            throw HTTPServerError(address: "\(host):\(boundPort)", reason: "libmicrohttpd did not start")
        }
        self.pages = pages
        self.daemon = daemon
        self.port = boundPort
        sweeper = DispatchSource.makeTimerSource()
        let connections = pages.connections
        sweeper.setEventHandler { connections.endLate() }
        sweeper.schedule(deadline: .now(), repeating: .milliseconds(500), leeway: .milliseconds(100))
        sweeper.resume()
    }

    deinit {
        stop()
    }

    /// Finishes the request that is being answered, closes every connection and the port. Further calls do nothing.
    package func stop() {
        guard let daemon else { return }
        self.daemon = nil
        sweeper.cancel()
        MHD_stop_daemon(daemon)
    }
}

/// Holds the handler for the C callback, and the connections.
private final class Pages: Sendable {
    let handler: HTTPServer.Handler
    let connections = OpenConnections()

    init(_ handler: @escaping HTTPServer.Handler) {
        self.handler = handler
    }

    func response(method: String, path: String) -> HTTPResponse {
        guard method == "GET" || method == "HEAD" else {
            return HTTPResponse(.methodNotAllowed, body: "\(method) is not allowed here\n")
        }
        return handler(path) ?? HTTPResponse(.notFound, body: "there is no page \(path)\n")
    }
}

/// libmicrohttpd calls this once with a request's headers, then for its body, and finally for the response; a response
/// to the first call would close the connection. `state` is nil in the first call and keeps what the first call sets.
private func answer(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?, path: UnsafePointer<CChar>?,
    method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?, upload: UnsafePointer<CChar>?,
    uploadSize: UnsafeMutablePointer<Int>?, state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let context, let connection, let path, let method, let state else { return .NO }
    let pages = Unmanaged<Pages>.fromOpaque(context).takeUnretainedValue()
    guard state.pointee != nil else {
        pages.connections.began(cmicrohttpd_descriptor(connection))
        state.pointee = context
        return .YES
    }
    if let uploadSize, uploadSize.pointee > 0 {
        uploadSize.pointee = 0
        return .YES
    }
    return send(pages.response(method: String(cString: method), path: String(cString: path)), over: connection)
}

/// libmicrohttpd has accepted a connection, or is about to close it.
private func notify(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, event: MHD_ConnectionNotificationCode
) {
    guard let context, let connection else { return }
    let connections = Unmanaged<Pages>.fromOpaque(context).takeUnretainedValue().connections
    let descriptor = cmicrohttpd_descriptor(connection)
    if cmicrohttpd_is_start(event) != 0 {
        connections.opened(descriptor, from: hostBytes(cmicrohttpd_address(connection)))
    } else {
        connections.ended(descriptor)
    }
}

/// A request's answer is over, also where it could not be sent.
private func completed(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, reason: MHD_RequestTerminationCode
) {
    guard let context, let connection else { return }
    let connections = Unmanaged<Pages>.fromOpaque(context).takeUnretainedValue().connections
    connections.answered(cmicrohttpd_descriptor(connection))
}

/// The bytes of an address, without its port; empty for an unknown family. Of IPv6 the network of 64 bits: a host may have
/// all of it.
private func hostBytes(_ address: UnsafePointer<sockaddr>?) -> [UInt8] {
    guard let address else { return [] }
    let raw = UnsafeRawPointer(address)
    switch Int32(address.pointee.sa_family) {
    case AF_INET: return withUnsafeBytes(of: raw.load(as: sockaddr_in.self).sin_addr) { Array($0) }
    case AF_INET6:
        return withUnsafeBytes(of: raw.load(as: sockaddr_in6.self).sin6_addr) { bytes in
            // An IPv4 address in IPv6, ::ffff:a.b.c.d, is one host.
            bytes.prefix(10).allSatisfy { $0 == 0 } ? Array(bytes) : Array(bytes.prefix(8))
        }
    default: return []
    }
}

private func send(_ response: HTTPResponse, over connection: OpaquePointer) -> MHD_Result {
    var body = response.body
    let made = body.withUTF8 { bytes in
        MHD_create_response_from_buffer(
            bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
    }
    guard let made else { return .NO }
    defer { MHD_destroy_response(made) }
    _ = MHD_add_response_header(made, "Content-Type", response.contentType)
    if response.status == .methodNotAllowed { _ = MHD_add_response_header(made, "Allow", "GET, HEAD") }
    return MHD_queue_response(connection, response.status.rawValue, made)
}
