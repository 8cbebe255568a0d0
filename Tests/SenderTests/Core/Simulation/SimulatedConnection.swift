import KafkaSimulation

@testable import HTTPClient
@testable import Sender

/// The connections of a process to the simulated provider, on which a request may wait for its turn. What cuts a process off
/// cuts it off from the provider too.
final class SimulatedConnection: ProviderClient {
    private let provider: SimulatedProvider
    private let process: SimulatedProcess
    private let watch: LaneWatch
    private var results: [HTTPResult] = []
    /// What has no result.
    private var open: [UInt64: Bool] = [:]
    private var isClosed = false

    private var baton: Baton { provider.baton }

    init(_ provider: SimulatedProvider, _ process: SimulatedProcess, _ watch: LaneWatch) {
        self.provider = provider
        self.process = process
        self.watch = watch
    }

    func submit(_ requests: [HTTPRequest]) {
        for request in requests {
            open[request.tag] = false
            let isSlow = watch.simulation.size.isFaulty && baton.isOne(of: 50)
            baton.after(isSlow ? baton.milliseconds(0...8_000) : baton.milliseconds(0...20)) { [self] in
                send(request)
            }
        }
    }

    private func send(_ request: HTTPRequest) {
        guard !isClosed, !process.isDead, open[request.tag] == false else { return }
        guard !process.isAway else { return baton.after(.milliseconds(100)) { [self] in send(request) } }
        if let sendBy = request.sendBy, baton.instant > sendBy { return end(request.tag, .failure(.tooLate)) }
        open[request.tag] = true
        let answer: SimulatedProvider.Answer?
        if let sent = watch.sent[request.tag] {
            answer = provider.answer(to: sent.id)
            watch.arrived(sent, isTaken: answer?.isOfCredential != true)
        } else {
            answer = provider.token()
        }
        guard let answer else {
            return baton.after(.milliseconds(1_500)) { [self] in
                end(request.tag, .failure(.timedOut(sent: true)))
            }
        }
        baton.after(baton.milliseconds(1...400)) { [self] in
            if process.isAway, baton.isOne(of: 2) {
                provider.unanswered += 1
                return end(request.tag, .failure(.connectionLost(sent: true, detail: "cut off")))
            }
            let headers = answer.retryAfter.map { [HTTPHeader("retry-after", "\($0)")] } ?? []
            end(
                request.tag,
                .success(
                    HTTPResponse(
                        status: answer.status, headers: headers, body: Array(answer.body.utf8),
                        duration: .milliseconds(1))))
        }
    }

    private func end(_ tag: UInt64, _ outcome: Result<HTTPResponse, HTTPFailure>) {
        guard open.removeValue(forKey: tag) != nil else { return }
        results.append(HTTPResult(tag: tag, outcome: outcome))
    }

    func takeResults(into results: inout [HTTPResult]) {
        results += self.results
        self.results = []
    }

    func cancel(tags: [UInt64]) {
        for tag in tags {
            guard let isSent = open[tag] else { continue }
            end(tag, .failure(.cancelled(sent: isSent)))
        }
    }

    func close() { isClosed = true }
}
