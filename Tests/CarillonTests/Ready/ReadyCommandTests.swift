import Console
import Foundation
import Glibc
import HTTPServer
import Pipeline
import Synchronization
import Telemetry
import Testing

@testable import carillon

@Suite("carillon ready", .timeLimit(.minutes(30))) struct ReadyCommandTests {
    /// Reasons of a served `/ready`, which a test changes.
    private final class Board: Sendable {
        let reasons: Mutex<[String]>
        let questions = Mutex(0)

        init(_ reasons: String...) { self.reasons = Mutex(reasons) }

        func serve() throws -> ConsoleServer {
            try ConsoleServer(
                at: ListenAddress(host: "127.0.0.1", port: 0), metrics: Metrics(), build: [:],
                stuck: { [] },
                unready: {
                    self.questions.withLock { $0 += 1 }
                    return self.reasons.withLock { $0 }
                })
        }
    }

    /// A bound socket of loopback; only a listening one takes connections, and none of them is ever answered.
    private final class SilentPort {
        let port: UInt16
        private let descriptor: Int32

        init(listens: Bool) throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let descriptor = descriptor
            let bound = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
                }
            }
            try #require(bound)
            if listens { try #require(listen(descriptor, 8) == 0) }
            port = UInt16(bigEndian: address.sin_port)
        }

        deinit { close(descriptor) }
    }

    private func ready(_ port: UInt16, timeout: String = "0s", host: String = "127.0.0.1") throws -> CommandProcess {
        try CommandProcess.run(["ready", "--http", "\(host):\(port)", "--timeout", timeout])
    }

    @Test("without http it ends with 78 and says to set it")
    func notSet() throws {
        let done = try CommandProcess.run(["ready"])
        #expect(done.status == 78)
        #expect(done.errors.contains("http is not set: set it to where the daemon serves /ready"))
    }

    @Test("a timeout without a unit is a usage error")
    func badTimeout() throws {
        let done = try CommandProcess.run(["ready", "--http", "127.0.0.1:1", "--timeout", "60"])
        #expect(done.status == 64)
        #expect(done.errors.contains("--timeout: '60' is not allowed; expected a duration such as 60s"))
    }

    @Test("a daemon that works is ready at once, also where it listens on every address of the machine")
    func isReady() throws {
        let server = try Board().serve()
        for host in ["127.0.0.1", "0.0.0.0", "", "localhost"] {
            let done = try ready(server.port, host: host)
            #expect(done.status == 0, "\(host)")
            #expect(done.errors.isEmpty)
        }
        server.stop()
    }

    @Test("the address comes from the environment and from the file as well")
    func settings() throws {
        let server = try Board().serve()
        let address = "0.0.0.0:\(server.port)"
        let done = try CommandProcess.run(["ready", "--timeout", "0s"], environment: ["CARILLON_HTTP": address])
        #expect(done.status == 0)
        let file = FileManager.default.temporaryDirectory.path + "/ready-\(UUID().uuidString).properties"
        try "http=\(address)\n".write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        #expect(try CommandProcess.run(["ready", "--timeout", "0s", "--config", file]).status == 0)
        server.stop()
    }

    @Test("a proxy of the environment is not asked")
    func proxy() throws {
        let server = try Board().serve()
        let done = try CommandProcess.run(
            ["ready", "--http", "127.0.0.1:\(server.port)", "--timeout", "0s"],
            environment: ["http_proxy": "http://127.0.0.1:1"])
        #expect(done.status == 0)
        server.stop()
    }

    @Test("where nothing listens it ends with 75 and says so")
    func nothingListens() throws {
        let port = try SilentPort(listens: false)
        let done = try ready(port.port)
        #expect(done.status == 75)
        #expect(done.errors == "carillon: http://127.0.0.1:\(port.port)/ready: not ready: nothing listens there yet\n")
    }

    @Test("a listener that never answers does not hang it past the deadline")
    func neverAnswers() throws {
        let port = try SilentPort(listens: true)
        let start = ContinuousClock.now
        let done = try ready(port.port, timeout: "300ms")
        #expect(done.status == 75)
        #expect(done.errors.contains("not ready within 300ms: no answer\n"))
        #expect(ContinuousClock.now - start < .seconds(60))
    }

    @Test("another program at the port is named as such")
    func anotherProgram() throws {
        let server = try HTTPServer(host: "127.0.0.1", port: 0) { _ in nil }
        let done = try ready(server.port)
        #expect(done.status == 75)
        #expect(done.errors.contains("not ready: the answer is HTTP 404; does another program listen there?"))
        server.stop()
    }

    @Test("at the deadline the daemon's last reasons are in the message")
    func reasons() throws {
        let server = try Board("the broker is unreachable: x", "no assignment yet: worker 1").serve()
        let done = try ready(server.port)
        #expect(done.status == 75)
        #expect(done.errors.hasSuffix(": not ready: the broker is unreachable: x; no assignment yet: worker 1\n"))
        server.stop()
    }

    @Test("an answer cannot write to the terminal: its control characters are escaped")
    func controlCharacters() throws {
        let server = try Board("\u{1B}[31mred\u{1B}]0;title\u{7}\r over").serve()
        let done = try ready(server.port)
        #expect(done.status == 75)
        #expect(done.errors.hasSuffix(#": not ready: \u{1b}[31mred\u{1b}]0;title\u{7}\u{d} over"# + "\n"))
        server.stop()
    }

    @Test("it waits until the daemon is ready, and says what it waits for once for each change, but not for a figure's")
    func waits() throws {
        let board = Board("the pipeline is starting")
        let server = try board.serve()
        var said: [String] = []
        let wait = ReadyWait(address: ListenAddress(host: "127.0.0.1", port: server.port), timeout: .seconds(300))
        Thread.detachNewThread {
            for next in [["9 records behind"], ["7 records behind"], []] {
                let asked = board.questions.withLock { $0 }
                // Two more questions: the second began after this one's answer was there.
                while board.questions.withLock({ $0 }) < asked + 2 { sched_yield() }
                board.reasons.withLock { $0 = next }
            }
        }
        try wait.run { said.append($0) }
        let prefix = "waiting for http://127.0.0.1:\(server.port)/ready: "
        #expect(said == [prefix + "the pipeline is starting", prefix + "9 records behind"])
        server.stop()
    }
}
