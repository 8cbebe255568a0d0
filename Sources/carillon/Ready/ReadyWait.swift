import Foundation
import HTTPClient
import Pipeline

/// Asks `/ready` until the answer is that the daemon works.
struct ReadyWait {
    let address: ListenAddress
    /// 0 asks once.
    let timeout: Duration

    /// How long one request may take, and the time between two.
    private static let patience: Duration = .seconds(2)
    private static let pause: Duration = .milliseconds(100)

    /// - Parameter report: gets a sentence with what is waited for, whenever more than its figures changes.
    /// - Throws: exit code 75 at the deadline, with the last reason.
    func run(report: (String) -> Void) throws(CommandFailure) {
        let deadline = ContinuousClock.now + timeout
        var reported: String?
        var limit = timeout == .zero ? Self.patience : min(Self.patience, timeout)
        while let reason = reason(PageRequest.send("GET", "http://\(address)/ready", timeout: limit)) {
            guard deadline - .now > Self.pause else {
                let within = timeout == .zero ? "" : " within \(ConfigurationText.text(timeout))"
                throw CommandFailure(.notInTime, "http://\(address)/ready: not ready\(within): \(reason)")
            }
            let words = reason.filter { !$0.isNumber }
            if words != reported { report("waiting for http://\(address)/ready: \(reason)") }
            reported = words
            Thread.sleep(forTimeInterval: Self.pause / .seconds(1))
            limit = min(Self.patience, deadline - .now)
        }
    }

    /// Why it is not ready; nil if it is.
    private func reason(_ outcome: PageRequest.Outcome) -> String? {
        switch outcome {
        case .page(status: 200, _): return nil
        case .page(status: 503, let body):
            // Another program may answer.
            let reasons = body.split(separator: "\n").filter { $0.hasPrefix("- ") }
                .map { String($0.dropFirst(2)).inOneLine }
            return reasons.isEmpty ? "the answer is HTTP 503" : reasons.joined(separator: "; ")
        case .page(let status, _): return "the answer is HTTP \(status); does another program listen there?"
        case .refused: return "nothing listens there yet"
        case .timedOut: return "no answer"
        case .failed(let reason): return reason
        }
    }
}
