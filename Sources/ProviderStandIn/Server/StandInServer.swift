import CTLS
import Glibc
import Synchronization

/// An HTTP/2 server with TLS on loopback, on a thread of its own: for tests and demonstrations.
package final class StandInServer: Sendable {
    /// Answers a request, on the server's thread.
    package typealias Handler = @Sendable (StandInRequest) -> StandInAnswer

    package let port: UInt16
    let shared: Shared
    private let thread: Mutex<pthread_t?>

    /// - Parameters:
    ///   - names: whom the certificate is for.
    ///   - hasExpired: whether the certificate has.
    ///   - port: 0 for any free one.
    ///   - protocols: what it agrees on by ALPN.
    ///   - omitsLength: whether answers have no `content-length`, which HTTP/2 allows.
    ///   - highest: no version of TLS above it; nil for the newest.
    package init(
        authority: Authority, names: String = "DNS:localhost,IP:127.0.0.1", hasExpired: Bool = false,
        port: UInt16 = 0, highest: TLSVersion? = nil, protocols: AgreedProtocols = .http2, omitsLength: Bool = false,
        faults: ConnectionFaults = ConnectionFaults(), handler: @escaping Handler
    ) throws(StandInError) {
        let context = try authority.makeServer(
            names: names, hasExpired: hasExpired, highest: highest, protocols: protocols)
        let (descriptor, bound) = try Self.listen(port)
        self.port = bound
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw StandInError("no pipe") }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        shared = Shared(wake: ends[1], faults: faults)
        let loop = ServerLoop(
            listening: descriptor, woken: ends[0], context: context, shared: shared, omitsLength: omitsLength,
            handler: handler)
        var thread = pthread_t()
        guard pthread_create(&thread, nil, runLoop, Unmanaged.passRetained(loop).toOpaque()) == 0 else {
            throw StandInError("no thread")
        }
        self.thread = Mutex(thread)
    }

    deinit {
        stop()
    }

    /// Closes every connection and the port. Further calls do nothing.
    package func stop() {
        thread.withLock { thread in
            guard let running = thread else { return }
            thread = nil
            shared.send(.stop)
            pthread_join(running, nil)
            close(shared.wake)
        }
    }

    package var counts: ServerCounts { shared.state.withLock { $0.counts } }

    /// From now on; `streams` and `window` reach connections that are open as new SETTINGS.
    package func setFaults(_ faults: ConnectionFaults) {
        shared.state.withLock { $0.faults = faults }
        shared.send(.settings(faults))
    }

    /// Answers those requests whose answers were `never` or wait for their time.
    package func answerWaiting() {
        shared.send(.answerWaiting)
    }

    private static func listen(_ port: UInt16) throws(StandInError) -> (Int32, UInt16) {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_INET, kind, 0)
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, size) == 0 && Glibc.listen(descriptor, 512) == 0
                    && getsockname(descriptor, generic, &size) == 0
            }
        }
        guard isBound else {
            close(descriptor)
            throw StandInError("cannot listen on 127.0.0.1:\(port): \(String(cString: strerror(errno)))")
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}

/// What a server agrees on by ALPN.
package enum AgreedProtocols: Sendable {
    /// It does not answer ALPN, and speaks HTTP/2.
    case none
    case http2
    /// HTTP/2 where the client offers it.
    case http2OrHTTP1
    case http1

    /// As OpenSSL wants it.
    var list: UnsafePointer<UInt8>? {
        switch self {
        case .none: nil
        case .http2: ctls_protocols_h2()
        case .http2OrHTTP1: ctls_protocols_h2_and_http1()
        case .http1: ctls_protocols_http1()
        }
    }
}

/// What the server's thread shares with others.
final class Shared: Sendable {
    enum Command {
        case stop
        case settings(ConnectionFaults)
        case answerWaiting
    }

    struct State {
        var commands: [Command] = []
        var counts = ServerCounts()
        var faults: ConnectionFaults
    }

    let wake: Int32
    let state: Mutex<State>

    init(wake: Int32, faults: ConnectionFaults) {
        self.wake = wake
        state = Mutex(State(faults: faults))
    }

    func send(_ command: Command) {
        state.withLock { $0.commands.append(command) }
        var byte: UInt8 = 0
        write(wake, &byte, 1)
    }
}

private func runLoop(context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    // A client that has gone is an error code and no SIGPIPE.
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    Unmanaged<ServerLoop>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
