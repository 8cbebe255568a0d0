import CMicrohttpd
import Dispatch
import Glibc

/// A HTTP/1.1 server over libmicrohttpd.
///
/// It owns one thread, which reads and writes all connections and calls the handler: a handler that blocks delays all others, so
/// what waits answers later. Connections, heads and bodies are bounded in number, size and time (``HTTPLimits``), so that slow
/// ones keep nobody else out. No TLS: it is meant for the host itself, a trusted network, or a proxy before it.
package final class HTTPServer {
    /// - Parameter path: without the query, percent-decoded.
    /// - Returns: nil if there is no such page; the server then answers 404.
    package typealias Pages = @Sendable (_ path: String) -> HTTPResponse?

    /// The port it listens on: the system's choice if 0 was requested.
    package let port: UInt16
    private var daemon: OpaquePointer?
    private let state: ServerState

    /// Looks for connections that take too long.
    private let sweeper: any DispatchSourceTimer

    /// Serves pages by GET and HEAD.
    package convenience init(host: String, port: UInt16, pages: @escaping Pages) throws(HTTPServerError) {
        try self.init(host: host, port: port, handler: PageHandler(page: pages))
    }

    /// Starts to listen and serve.
    ///
    /// - Parameters:
    ///   - host: a name or an address; empty for every address of this machine.
    ///   - port: 0 for any free one.
    package init(
        host: String, port: UInt16, limits: HTTPLimits = HTTPLimits(), handler: any HTTPHandler
    ) throws(HTTPServerError) {
        let socket = try ListeningSocket(host: host, port: port)
        let boundPort = socket.port
        let descriptor = socket.take()
        let state = ServerState(handler, limits)
        // The server keeps the state alive for longer than the daemon's thread runs.
        let context = Unmanaged.passUnretained(state).toOpaque()
        // Room for connections that were told to end and are not closed yet: libmicrohttpd accepts one at a time, and stops where
        // this number is reached.
        let most = UInt32(clamping: limits.connections + 32)
        guard
            let daemon = cmicrohttpd_start(
                descriptor, most, beginRequest, advanceRequest, notify, endRequest, noteRefusal, context)
        else {
            close(descriptor)
            throw HTTPServerError(address: "\(host):\(boundPort)", reason: "libmicrohttpd did not start")
        }
        self.state = state
        self.daemon = daemon
        self.port = boundPort
        sweeper = DispatchSource.makeTimerSource()
        sweeper.setEventHandler { state.connections.endLate() }
        sweeper.schedule(deadline: .now(), repeating: .milliseconds(500), leeway: .milliseconds(100))
        sweeper.resume()
    }

    deinit {
        stop()
    }

    /// From now on refuses requests, and waits for the end of those that it has.
    ///
    /// - Returns: false if the time is over before.
    package func drain(within time: DispatchTimeInterval) -> Bool {
        state.drain()
        return state.underWay.wait(timeout: .now() + time) == .success
    }

    /// Gives those that wait their last answer, and closes every connection and the port; a client that reads slowly gets a
    /// second. Further calls do nothing.
    package func stop() {
        guard let daemon else { return }
        self.daemon = nil
        sweeper.cancel()
        state.drain()
        // libmicrohttpd ends the process where a connection is still suspended.
        state.connections.close()
        // It closes a connection that was resumed a moment ago without its answer.
        _ = state.underWay.wait(timeout: .now() + 1)
        MHD_stop_daemon(daemon)
    }
}

/// The line of a request is there. What is returned is the `reader` of the other callbacks, up to ``endRequest``.
private func beginRequest(
    context: UnsafeMutableRawPointer?, target: UnsafePointer<CChar>?, connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let context, let connection else { return nil }
    let state = Unmanaged<ServerState>.fromOpaque(context).takeUnretainedValue()
    state.connections.began(cmicrohttpd_descriptor(connection))
    return Unmanaged.passRetained(RequestReader(state, target: target)).toOpaque()
}

/// libmicrohttpd calls this once with a request's headers, then for its body, for its end, and where it was suspended again.
private func advanceRequest(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?, path: UnsafePointer<CChar>?,
    method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?, part: UnsafePointer<CChar>?,
    size: UnsafeMutablePointer<Int>?, reader: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let connection, let method, let version, let size, let reader = reader?.pointee else { return .NO }
    let part = UnsafeBufferPointer(start: part, count: size.pointee)
    size.pointee = 0
    return Unmanaged<RequestReader>.fromOpaque(reader).takeUnretainedValue()
        .advance(connection, method: method, version: version, part: part)
}

/// A request's answer is over, also where it could not be sent.
private func endRequest(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    reader: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, reason: MHD_RequestTerminationCode
) {
    guard let context, let connection, let pointer = reader?.pointee else { return }
    Unmanaged<ServerState>.fromOpaque(context).takeUnretainedValue()
        .connections.enter(.idle, cmicrohttpd_descriptor(connection))
    Unmanaged<RequestReader>.fromOpaque(pointer).takeRetainedValue().end()
    reader?.pointee = nil
}

/// libmicrohttpd has accepted a connection, or is about to close it.
private func notify(
    context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    socketState: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, event: MHD_ConnectionNotificationCode
) {
    guard let context, let connection else { return }
    let connections = Unmanaged<ServerState>.fromOpaque(context).takeUnretainedValue().connections
    let descriptor = cmicrohttpd_descriptor(connection)
    if cmicrohttpd_is_start(event) != 0 {
        connections.opened(descriptor, from: ClientAddress(cmicrohttpd_address(connection)))
    } else {
        connections.ended(descriptor)
    }
}

/// libmicrohttpd says something. Only by this does it tell of an answer that it has given by itself.
private func noteRefusal(context: UnsafeMutableRawPointer?, format: UnsafePointer<CChar>?, arguments: CVaListPointer?) {
    guard let context, let format, let arguments else { return }
    let line = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        vsnprintf(buffer.baseAddress, buffer.count, format, arguments)
        return String(cString: buffer.baseAddress!)
    }
    guard let match = line.firstMatch(of: /HTTP response code is ([0-9]{3})/), let number = UInt32(match.1) else {
        return
    }
    // One that nothing else answers with is as good as the most usual one.
    let status = HTTPResponse.Status(rawValue: number) ?? .badRequest
    Unmanaged<ServerState>.fromOpaque(context).takeUnretainedValue().handler.refused(status)
}
