import Foundation
import HTTPClient
import ProviderStandIn
import Synchronization
import TestSupport
import Testing

/// A client whose results a test waits for, with the authority of its server.
final class TestClient: Sendable {
    let client: HTTPClient
    private let arrived: Signal
    private let results = Mutex<[HTTPResult]>([])

    init(
        _ authority: Authority, stop: Stop? = nil, _ configure: (inout HTTPClientConfiguration) -> Void = { _ in }
    ) throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = folder.path + "/ca.pem"
        try authority.pem.write(toFile: file, atomically: true, encoding: .utf8)
        var configuration = HTTPClientConfiguration()
        configuration.caFile = file
        configuration.proxy = .none
        configure(&configuration)
        let arrived = Signal()
        self.arrived = arrived
        // The client reads the file whenever it connects.
        client = try HTTPClient(configuration) {
            stop?.holdIfBegun()
            withExtendedLifetime(folder) { arrived.send() }
        }
    }

    /// Waits for so many results, in the order in which they came; fewer after the deadline.
    func results(_ count: Int, within seconds: Double = 30) -> [HTTPResult] {
        let deadline = Date(timeIntervalSinceNow: seconds)
        return results.withLock { results in
            client.takeResults(into: &results)
            while results.count < count, arrived.wait(until: deadline) { client.takeResults(into: &results) }
            defer { results.removeFirst(min(count, results.count)) }
            return Array(results.prefix(count))
        }
    }

    func post(_ requests: [HTTPRequest]) -> [HTTPResult] {
        client.submit(requests)
        return results(requests.count)
    }

    func post(_ url: String) -> Result<HTTPResponse, HTTPFailure>? {
        post([.to(url)]).first?.outcome
    }
}

/// Something happened: a condition that keeps until it is waited for.
final class Signal: Sendable {
    private let condition = NSCondition()
    private let isSent = Mutex(false)

    func send() {
        condition.lock()
        isSent.withLock { $0 = true }
        condition.broadcast()
        condition.unlock()
    }

    /// False after the deadline.
    func wait(until deadline: Date) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        while !isSent.withLock({ $0 }) {
            guard condition.wait(until: deadline) else { return false }
        }
        isSent.withLock { $0 = false }
        return true
    }
}

/// A client's thread stands still, as when its process is stopped, while the rest of the test continues.
final class Stop: Sendable {
    private let isBegun = Mutex(false)
    private let begun = Signal()
    private let over = Signal()

    /// Sends these requests, and returns when the client has written what it can of them and stands still.
    func begin(_ client: TestClient, sending requests: [HTTPRequest]) {
        isBegun.withLock { $0 = true }
        // One that cannot be sent has its result at once.
        client.client.submit([.to("", tag: .max)] + requests)
        #expect(begun.wait(until: Date(timeIntervalSinceNow: 30)))
        #expect(client.results(1).map(\.tag) == [.max])
    }

    func end() { over.send() }

    fileprivate func holdIfBegun() {
        let isBegun = isBegun.withLock { isBegun in
            defer { isBegun = false }
            return isBegun
        }
        guard isBegun else { return }
        begun.send()
        _ = over.wait(until: Date(timeIntervalSinceNow: 30))
    }
}

extension HTTPRequest {
    static func to(_ url: String, tag: UInt64 = 0, headers: [HTTPHeader] = [], body: String = "{}") -> HTTPRequest {
        HTTPRequest(tag: tag, url: url, headers: headers, body: Array(body.utf8))
    }
}

extension StandInServer {
    var url: String { "https://127.0.0.1:\(port)" }
}

/// Whether the condition becomes true before the deadline; asks again and again.
func eventually(within seconds: Double = 20, _ condition: () -> Bool) -> Bool {
    let deadline = Date(timeIntervalSinceNow: seconds)
    while !condition() {
        guard Date() < deadline else { return false }
        sched_yield()
    }
    return true
}
