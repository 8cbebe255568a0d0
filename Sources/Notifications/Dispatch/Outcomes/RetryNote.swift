/// What a record of a retry topic says besides its dispatch record: the value of its header `delivery`, which is
/// `v1 o=<offset> a=<attempts> u=<used>` and, where they are known, `w=<appended>`, `f=<first>`, `t=<last>`,
/// `b=<not before>`, `s=<status>` and `r=<reason>`.
package struct RetryNote: Equatable, Sendable {
    package static var header: StaticString { "delivery" }

    private static let times = 0...WallTime.latest.milliseconds
    private static let counts: ClosedRange<Int64> = 0...1_000_000_000

    /// The offset of the dispatch record, which is in the partition of the same number.
    package var offset: Int64
    /// The requests so far that may have reached the provider.
    package var attempts: Int
    /// How long it has been tried when this was written, pauses not counted, in milliseconds.
    package var used: Int64
    /// When the dispatch record was appended to its topic.
    package var appendedAt: WallTime?
    /// When the first and the last request were sent.
    package var firstSentAt: WallTime?
    package var lastSentAt: WallTime?
    /// Not to be sent before this time, if that is later than its topic says.
    package var notBefore: WallTime?
    /// The HTTP status of the last answer.
    package var status: Int?
    /// The code of the last failure: 1 to 64 visible characters of ASCII; another one is not written.
    package var reason: String?

    package init(
        offset: Int64, attempts: Int, used: Int64, appendedAt: WallTime? = nil, firstSentAt: WallTime? = nil,
        lastSentAt: WallTime? = nil,
        notBefore: WallTime? = nil, status: Int? = nil, reason: String? = nil
    ) {
        self.offset = offset
        self.attempts = attempts
        self.used = used
        self.appendedAt = appendedAt
        self.firstSentAt = firstSentAt
        self.lastSentAt = lastSentAt
        self.notBefore = notBefore
        self.status = status
        self.reason = reason
    }

    package var text: String {
        var text = "v1 o=\(offset) a=\(attempts) u=\(used)"
        if let appendedAt { text += " w=\(appendedAt.milliseconds)" }
        if let firstSentAt { text += " f=\(firstSentAt.milliseconds)" }
        if let lastSentAt { text += " t=\(lastSentAt.milliseconds)" }
        if let notBefore { text += " b=\(notBefore.milliseconds)" }
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
        var appendedAt: WallTime?
        var firstSentAt: WallTime?
        var lastSentAt: WallTime?
        var notBefore: WallTime?
        var status: Int64?
        var reason: String?
        for (name, value) in words.pairs {
            switch name {
            case "o": offset = MetadataWords.number(value, 0...Int64.max)
            case "a": attempts = MetadataWords.number(value, Self.counts)
            case "u": used = MetadataWords.number(value, Self.times)
            case "w": appendedAt = Self.time(value)
            case "f": firstSentAt = Self.time(value)
            case "t": lastSentAt = Self.time(value)
            case "b": notBefore = Self.time(value)
            case "s": status = MetadataWords.number(value, 100...999)
            case "r": reason = Self.isReason(value) ? String(value) : nil
            default: continue
            }
        }
        guard let offset, let attempts, let used else { return nil }
        self.init(
            offset: offset, attempts: Int(attempts), used: used, appendedAt: appendedAt, firstSentAt: firstSentAt,
            lastSentAt: lastSentAt, notBefore: notBefore, status: status.map { Int($0) }, reason: reason)
    }

    private static func time(_ value: Substring) -> WallTime? {
        MetadataWords.number(value, times).map(WallTime.init(milliseconds:))
    }

    private static func isReason(_ text: some StringProtocol) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
