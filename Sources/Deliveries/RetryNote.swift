import Events

/// What a record of a retry topic says besides its dispatch record: the value of its header `delivery`, which is
/// `v1 o=<offset> a=<attempts> u=<used>` and, where they are known, `f=<first>`, `t=<last>`, `b=<not before>`,
/// `s=<status>` and `r=<reason>`.
package struct RetryNote: Equatable, Sendable {
    package static var header: StaticString { "delivery" }

    /// 9999-12-31T23:59:59.999Z, so that no sum of a time and a wait overflows.
    private static let times: ClosedRange<Int64> = 0...253_402_300_799_999
    private static let counts: ClosedRange<Int64> = 0...1_000_000_000

    /// The offset of the dispatch record, which is in the partition of the same number.
    package var offset: Int64
    /// The requests so far that may have reached the provider.
    package var attempts: Int
    /// How long it has been tried when this was written, pauses not counted, in milliseconds.
    package var used: Int64
    /// When the first and the last request were sent, in milliseconds since 1970.
    package var firstSentAt: Int64?
    package var lastSentAt: Int64?
    /// Not to be sent before this time, in milliseconds since 1970, if that is later than its topic says.
    package var notBefore: Int64?
    /// The HTTP status of the last answer.
    package var status: Int?
    /// The code of the last failure: 1 to 64 visible characters of ASCII; another one is not written.
    package var reason: String?

    package init(
        offset: Int64, attempts: Int, used: Int64, firstSentAt: Int64? = nil, lastSentAt: Int64? = nil,
        notBefore: Int64? = nil, status: Int? = nil, reason: String? = nil
    ) {
        self.offset = offset
        self.attempts = attempts
        self.used = used
        self.firstSentAt = firstSentAt
        self.lastSentAt = lastSentAt
        self.notBefore = notBefore
        self.status = status
        self.reason = reason
    }

    package var text: String {
        var text = "v1 o=\(offset) a=\(attempts) u=\(used)"
        if let firstSentAt { text += " f=\(firstSentAt)" }
        if let lastSentAt { text += " t=\(lastSentAt)" }
        if let notBefore { text += " b=\(notBefore)" }
        if let status { text += " s=\(status)" }
        if let reason, Self.isReason(reason) { text += " r=\(reason)" }
        return text
    }

    /// Nil for a text that does not say the offset, the attempts and the time used. Of the other words, one that cannot be
    /// read is as good as none. Words of later versions are ignored.
    package init?(_ text: String) {
        guard let words = MetadataWords(text) else { return nil }
        var offset: Int64?
        var attempts: Int64?
        var used: Int64?
        var firstSentAt: Int64?
        var lastSentAt: Int64?
        var notBefore: Int64?
        var status: Int64?
        var reason: String?
        for (name, value) in words.pairs {
            switch name {
            case "o": offset = MetadataWords.number(value, 0...Int64.max)
            case "a": attempts = MetadataWords.number(value, Self.counts)
            case "u": used = MetadataWords.number(value, Self.times)
            case "f": firstSentAt = MetadataWords.number(value, Self.times)
            case "t": lastSentAt = MetadataWords.number(value, Self.times)
            case "b": notBefore = MetadataWords.number(value, Self.times)
            case "s": status = MetadataWords.number(value, 100...999)
            case "r": reason = Self.isReason(value) ? String(value) : nil
            default: continue
            }
        }
        guard let offset, let attempts, let used else { return nil }
        self.init(
            offset: offset, attempts: Int(attempts), used: used, firstSentAt: firstSentAt, lastSentAt: lastSentAt,
            notBefore: notBefore, status: status.map { Int($0) }, reason: reason)
    }

    private static func isReason(_ text: some StringProtocol) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
