import Foundation
import ProviderStandIn
import Synchronization

/// A listening socket whose system accepts connections, and that says nothing but one fixed answer.
final class SilentListener: Sendable {
    struct Failure: Error {}

    let port: UInt16
    let descriptor: Int32
    private let isStopped = Mutex(false)

    init(answer: String? = nil) throws {
        let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listening, $0, size) == 0 && listen(listening, 8) == 0 && getsockname(listening, $0, &size) == 0
            }
        }
        guard isBound else { throw Failure() }
        descriptor = listening
        port = UInt16(bigEndian: address.sin_port)
        guard let answer else { return }
        Thread.detachNewThread {
            let connection = accept(listening, nil, nil)
            var buffer = [UInt8](repeating: 0, count: 4_096)
            guard connection >= 0, recv(connection, &buffer, buffer.count, 0) > 0 else { return }
            let bytes = Array(answer.utf8)
            send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            close(connection)
        }
    }

    deinit {
        stop()
    }

    func stop() {
        isStopped.withLock { isStopped in
            guard !isStopped else { return }
            isStopped = true
            shutdown(descriptor, Int32(SHUT_RDWR))
            close(descriptor)
        }
    }
}

/// A proxy for one connection: answers CONNECT, and passes on what comes after it in both directions.
final class ConnectProxy: Sendable {
    let port: UInt16
    private let listener: SilentListener
    private let request = Mutex("")
    private let gate = NSLock()

    /// The first line of what the client asked for.
    var asked: String { request.withLock { $0 } }

    init() throws {
        listener = try SilentListener()
        port = listener.port
    }

    /// Reads nothing more from the client until `release`, which the same thread calls.
    func hold() { gate.lock() }
    func release() { gate.unlock() }

    func start(to server: UInt16) {
        let listening = listener.descriptor
        Thread.detachNewThread { [self] in
            let client = accept(listening, nil, nil)
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            let text = String(decoding: buffer[..<count], as: UTF8.self)
            request.withLock { $0 = text.split(separator: "\r\n").first.map(String.init) ?? "" }
            guard let onward = Self.connect(to: server) else { return }
            let answer = Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)
            send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
            Thread.detachNewThread { Self.pass(from: onward, to: client) }
            Self.pass(from: client, to: onward) { gate.withLock {} }
        }
    }

    private static func connect(to port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return result == 0 ? descriptor : nil
    }

    private static func pass(from source: Int32, to target: Int32, _ wait: () -> Void = {}) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            wait()
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0, send(target, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(target, Int32(SHUT_RDWR))
        close(source)
    }
}

/// How many requests of a connection were without an answer when its second one came.
final class FirstStreams: Sendable {
    private let state = Mutex<(requests: [UInt64: Int], most: Int)>(([:], 0))

    /// Whether it is the first one of its connection.
    func add(_ request: StandInRequest) -> Bool {
        state.withLock { state in
            let number = state.requests[request.connection, default: 0] + 1
            state.requests[request.connection] = number
            if number == 2 { state.most = max(state.most, request.openStreams) }
            return number == 1
        }
    }

    var mostAtSecond: Int { state.withLock { $0.most } }
}

/// The open descriptors of this process, and its clients' threads. Other suites have theirs, which come and go.
struct Leftovers: Equatable {
    let descriptors: Int
    let threads: Int

    init() {
        descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        threads = tasks.count { task in
            (try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)) == "http-client\n"
        }
    }
}
