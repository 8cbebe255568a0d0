import Foundation
import Telemetry
import TestSupport
import Testing

@testable import Hosting

@Suite("What a service manager is told", .timeLimit(.minutes(30)))
struct ServiceManagerTests {
    private static let start = ContinuousClock.now
    private static let good = ServiceState(unready: [], stuck: [], status: [])

    private static func folder() throws -> TemporaryFolder {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        return folder
    }

    private func notices(watchdogInterval: Duration? = nil) -> ServiceNotices {
        ServiceNotices(watchdogInterval: watchdogInterval, drainTimeout: .seconds(25))
    }

    @Test("it is ready at once, even while it waits for a broker, and its status says what it waits for")
    func waits() {
        var notices = notices()
        let waiting = ServiceState(
            unready: ["pipeline: no broker answers", "deliver: the same"], stuck: [], status: [])
        #expect(notices.next(waiting) == ["READY=1", "STATUS=not ready: pipeline: no broker answers"])
        #expect(notices.next(waiting) == [])
        #expect(notices.next(Self.good) == ["STATUS=ready"])
    }

    @Test("the status of a process that works is its roles' last lines of status, in one line of at most 1,000 bytes")
    func status() {
        var notices = notices()
        #expect(
            notices.next(
                ServiceState(unready: [], stuck: [], status: ["pipeline: 12 events/s\nREADY=0", "deliver: lag 0"]))
                == ["READY=1", "STATUS=pipeline: 12 events/s\\u{a}READY=0; deliver: lag 0"])
        let long = notices.next(ServiceState(unready: [], stuck: [], status: [String(repeating: "é", count: 3_000)]))
        #expect(long.map(\.utf8.count) == ["STATUS=".utf8.count + 1_000])
    }

    @Test("the watchdog hears from a live process at each interval, also while it is not ready")
    func watchdog() {
        var notices = notices(watchdogInterval: .seconds(10))
        #expect(notices.next(Self.good, now: Self.start) == ["READY=1", "STATUS=ready", "WATCHDOG=1"])
        #expect(notices.next(Self.good, now: Self.start + .seconds(9)) == [])
        #expect(notices.next(Self.good, now: Self.start + .seconds(10)) == ["WATCHDOG=1"])
        let unready = ServiceState(unready: ["no broker answers"], stuck: [], status: [])
        #expect(
            notices.next(unready, now: Self.start + .seconds(20))
                == ["STATUS=not ready: no broker answers", "WATCHDOG=1"])
    }

    @Test("the watchdog does not hear from a process that is not live, until it is live again")
    func stuck() {
        var notices = notices(watchdogInterval: .seconds(10))
        _ = notices.next(Self.good, now: Self.start)
        let stuck = ServiceState(unready: ["draining"], stuck: ["worker 0"], status: ["0 events/s"])
        #expect(notices.next(stuck, now: Self.start + .seconds(10)) == ["STATUS=not live: worker 0"])
        #expect(notices.next(stuck, now: Self.start + .seconds(3_600)) == [])
        #expect(
            notices.next(Self.good, now: Self.start + .seconds(3_601)) == ["STATUS=ready", "WATCHDOG=1"])
    }

    @Test("a drain is told once, with more time than the settings allow it")
    func drain() {
        var notices = notices()
        _ = notices.next(Self.good)
        notices.stops()
        #expect(notices.next(Self.good) == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=30000000"])
        notices.stops()
        #expect(notices.next(Self.good) == [])
    }

    @Test(
        "half of the watchdog's time is the interval, if it is this process that is watched",
        arguments: [
            (["WATCHDOG_USEC": "30000000"], Duration.seconds(15)),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"], .seconds(15)),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"], nil),
            (["WATCHDOG_USEC": "0"], nil), (["WATCHDOG_USEC": "soon"], nil), ([:], nil),
        ])
    func interval(variables: [String: String], expected: Duration?) throws {
        let environment = variables.merging(["NOTIFY_SOCKET": "/run/notify"]) { $1 }
        let manager = try #require(ServiceManager(environment: environment, processID: 7))
        #expect(manager.watchdogInterval == expected)
    }

    @Test("an address that is no path and no abstract name, or none at all, means that nobody listens")
    func nobody() {
        #expect(ServiceManager(environment: [:]) == nil)
        let long = "/" + String(repeating: "a", count: 107)
        for address in ["", "@", "/", "vsock:2:1234", "run/notify", long] {
            #expect(ServiceManager(environment: ["NOTIFY_SOCKET": address]) == nil, "\(address)")
        }
    }

    @Test(
        "the datagrams arrive at a path and at an abstract name, and STOPPING=1 is the last", arguments: [true, false])
    func datagrams(isAbstract: Bool) throws {
        let folder = try Self.folder()
        let listener = try NotifySocket(isAbstract ? "@\(folder.path)/n" : "\(folder.path)/n")
        let manager = try #require(
            ServiceManager(environment: ["NOTIFY_SOCKET": listener.name, "WATCHDOG_USEC": "200000"]))
        let notifier = ServiceNotifier(manager, drainTimeout: .seconds(10)) { Self.good }
        #expect(listener.next() == "READY=1\nSTATUS=ready\nWATCHDOG=1")
        #expect(listener.next() == "WATCHDOG=1")
        notifier.end()
        var last = listener.next()
        while last == "WATCHDOG=1" { last = listener.next() }
        #expect(last?.hasPrefix("STOPPING=1\nEXTEND_TIMEOUT_USEC=15000000") == true)
    }

    @Test("what nobody takes is told again")
    func again() throws {
        let folder = try Self.folder()
        let name = "\(folder.path)/n"
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": name, "WATCHDOG_USEC": "200000"]))
        let notifier = ServiceNotifier(manager, drainTimeout: .seconds(10)) { Self.good }
        defer { notifier.end() }
        notifier.stops()
        let listener = try NotifySocket(name)
        #expect(listener.next()?.hasPrefix("READY=1\nSTOPPING=1\n") == true)
    }
}

/// The service manager's end.
private final class NotifySocket {
    struct Failed: Error {}

    let name: String
    private let socket: Int32

    init(_ name: String) throws {
        self.name = name
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        // A test that would wait for ever fails.
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = name.hasPrefix("@") ? [0] + name.utf8.dropFirst() : Array(name.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = MemoryLayout<sa_family_t>.size + bytes.count
        let bound = withUnsafeBytes(of: &address) { raw in
            raw.baseAddress.map { bind(socket, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(length)) }
        }
        guard bound == 0 else { throw Failed() }
    }

    deinit { close(socket) }

    /// Waits for a datagram; nil after 30 s without one.
    func next() -> String? {
        var bytes = [UInt8](repeating: 0, count: 8_192)
        let count = recv(socket, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
