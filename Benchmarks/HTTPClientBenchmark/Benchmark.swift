import Dispatch
import Foundation
import HTTPClient
import ProviderStandIn

/// What a request costs the client: against FCM's stand-in, in a process of its own.
///
/// `HTTPClientBenchmark serve` prints its port, a file with its authority, and an access token, and ends with its
/// standard input. `HTTPClientBenchmark send PORT CA-FILE TOKEN [REQUESTS [STREAMS]]` sends and prints one line.
@main struct Benchmark {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case "serve": try serve()
        case "send" where arguments.count >= 4:
            let rest = Array(arguments.dropFirst())
            try send(
                port: rest[0], caFile: rest[1], token: rest[2], requests: rest.count > 3 ? Int(rest[3]) ?? 0 : 200_000,
                streams: rest.count > 4 ? Int(rest[4]) ?? 0 : 100)
        default:
            print("usage: HTTPClientBenchmark serve | send PORT CA-FILE TOKEN [REQUESTS [STREAMS]]")
            exit(64)
        }
    }

    static func serve() throws {
        let authority = try Authority()
        let fcm = try FCMStandIn()
        var faults = ConnectionFaults()
        faults.streams = 1_000
        let server = try StandInServer(authority: authority, faults: faults) { fcm.answer($0) }
        let file = NSTemporaryDirectory() + "/carillon-benchmark-\(getpid()).pem"
        try authority.pem.write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        print(server.port, file, fcm.makeAccessToken())
        fflush(nil)
        while readLine() != nil {}
        server.stop()
    }

    static func send(port: String, caFile: String, token: String, requests: Int, streams: Int) throws {
        var configuration = HTTPClientConfiguration()
        configuration.caFile = caFile
        configuration.proxy = .none
        configuration.streams = streams
        let ready = DispatchSemaphore(value: 0)
        let client = try HTTPClient(configuration) { ready.signal() }
        let url = "https://127.0.0.1:\(port)/v1/projects/\(FCMStandIn.projectID)/messages:send"
        let headers = [HTTPHeader("authorization", "Bearer \(token)"), HTTPHeader("content-type", "application/json")]
        func request(_ number: Int) -> HTTPRequest {
            let text = String(repeating: "x", count: 430)
            let body =
                #"{"message":{"token":"token-\#(number)","data":{"default":"\#(text)"},"android":{"ttl":"3600s"}}}"#
            return HTTPRequest(tag: UInt64(number), url: url, headers: headers, body: Array(body.utf8))
        }
        let all = (0..<requests).map(request)
        var next = min(requests, client.capacity * 4)
        var answered = 0
        var times: [Double] = []
        var failures: [String: Int] = [:]
        var results: [HTTPResult] = []
        times.reserveCapacity(requests)
        let cpu = cpuSeconds()
        let start = ContinuousClock.now
        client.submit(Array(all[..<next]))
        while answered < requests {
            ready.wait()
            results.removeAll(keepingCapacity: true)
            client.takeResults(into: &results)
            let end = min(requests, next + results.count)
            client.submit(Array(all[next..<end]))
            next = end
            answered += results.count
            for result in results {
                switch result.outcome {
                case .success(let response) where response.status == 200: times.append(response.duration / .seconds(1))
                case .success(let response): failures["\(response.status)", default: 0] += 1
                case .failure(let failure): failures["\(failure)", default: 0] += 1
                }
            }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let used = cpuSeconds() - cpu
        times.sort()
        let p99 = times.isEmpty ? 0 : times[times.count * 99 / 100]
        print(
            "requests \(requests) per-second \(Int(Double(requests) / seconds))",
            "cpu-us-per-request \((used / Double(requests) * 1e7).rounded() / 10)",
            "p99-ms \(Int(p99 * 1_000)) connections \(client.connectionsOpened) failures \(failures)")
        client.close()
    }

    static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
