import HTTPClient
import TestSupport
import Testing

@testable import Sender

@Suite("Why a request has no answer")
struct NoAnswerTests {
    @Test(
        "each failure has its reason",
        arguments: [
            (.nameNotResolved(detail: ""), "no_answer:dns"), (.connectionRefused(detail: ""), "no_answer:refused"),
            (.connectFailed(detail: ""), "no_answer:unreachable"), (.proxyFailed(detail: ""), "no_answer:proxy"),
            (.certificateRefused(.name, detail: ""), "no_answer:tls_name"),
            (.certificateRefused(.time, detail: ""), "no_answer:tls_expired"),
            (.certificateRefused(.authority, detail: ""), "no_answer:tls_authority"),
            (.certificateRefused(.other, detail: ""), "no_answer:tls"), (.tlsFailed(detail: ""), "no_answer:tls"),
            (.notHTTP2, "no_answer:http1_only"), (.timedOut(sent: true), "no_answer:timeout"),
            (.connectionLost(sent: true, detail: ""), "no_answer:reset"),
            (.http2Failed(code: 2, detail: ""), "no_answer:stream_reset"), (.answerTooLarge, "no_answer:too_long"),
            (.other(code: 1, sent: false, detail: ""), "no_answer"),
        ] as [(HTTPFailure, String)])
    func reasons(failure: HTTPFailure, reason: String) {
        let attempt = AttemptFailure.noAnswer(mayHaveArrived: true, NoAnswer(failure))
        #expect(attempt.verdict == .retry(reason: reason, counts: true, after: nil))
    }

    @Test("§11.3 has every reason, in this order, and no other")
    func page() throws {
        let rows = try Page("docs/rules.md").rows(below: "| Reason | Cause |")
        let reasons = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        #expect(reasons == NoAnswer.allCases.map(\.rawValue))
    }
}
