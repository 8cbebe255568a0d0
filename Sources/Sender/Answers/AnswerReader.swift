import JSONReader
import Notifications
import Time

/// Reads providers' answers. The memory of the parser is reused; one owner.
///
/// Nothing of an answer's text gets further than its codes, which are cut to what a code can be.
package struct AnswerReader: ~Copyable {
    private var reader = JSONReader()

    /// What an answer means.
    ///
    /// - Parameter now: for a `Retry-After` with a date, if the answer has no `date`.
    package mutating func verdict(of answer: ProviderAnswer, from platform: Platform, now: WallTime) -> Verdict {
        // HTML from a proxy or a load balancer is an answer without members.
        let body = try? reader.parse(answer.body)
        let after = answer.header("retry-after").flatMap { RetryAfter($0) }.map { after in
            after.wait(now: answer.header("date").flatMap { HTTPDate.time($0) } ?? now)
        }
        return platform.provider.verdict(of: answer, body, after: after)
    }
}

/// A provider's name of a message, for a record: at most 256 visible characters.
enum ProviderName {
    static func text(_ text: some Collection<UInt8>) -> String? {
        guard (1...256).contains(text.count), text.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}

/// A provider's code, for a record and a log: at most 64 characters that a code can have.
enum ProviderCode {
    static func text(_ text: JSONText?) -> String? {
        guard let text, !text.bytes.isEmpty else { return nil }
        let visible = text.bytes.prefix(64).map { (0x21...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }
        return String(decoding: visible, as: UTF8.self)
    }

    /// For an answer without a code.
    static func http(_ status: Int) -> String { "http_\(status)" }
}
