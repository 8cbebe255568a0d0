import Events

/// What a record of a retry topic says besides its dispatch record: the value of its header `delivery`, which is
/// `v1 o=<offset> a=<attempts> u=<used>` and, where they are known, `f=<first>`, `t=<last>` and `b=<not before>`.
package struct RetryNote: Equatable, Sendable {
    package static var header: StaticString { "delivery" }

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

    package init(
        offset: Int64, attempts: Int, used: Int64, firstSentAt: Int64? = nil, lastSentAt: Int64? = nil,
        notBefore: Int64? = nil
    ) {
        self.offset = offset
        self.attempts = attempts
        self.used = used
        self.firstSentAt = firstSentAt
        self.lastSentAt = lastSentAt
        self.notBefore = notBefore
    }

    package var text: String {
        var text = "v1 o=\(offset) a=\(attempts) u=\(used)"
        if let firstSentAt { text += " f=\(firstSentAt)" }
        if let lastSentAt { text += " t=\(lastSentAt)" }
        if let notBefore { text += " b=\(notBefore)" }
        return text
    }

    /// Nil for a text that is none. Words of later versions are ignored.
    package init?(_ text: String) {
        guard let words = MetadataWords(text) else { return nil }
        var offset: Int64?
        var attempts: Int?
        var used: Int64?
        var firstSentAt: Int64?
        var lastSentAt: Int64?
        var notBefore: Int64?
        for (name, value) in words.pairs {
            switch name {
            case "o": offset = Int64(value)
            case "a": attempts = Int(value)
            case "u": used = Int64(value)
            case "f": firstSentAt = Int64(value)
            case "t": lastSentAt = Int64(value)
            case "b": notBefore = Int64(value)
            default: continue
            }
        }
        guard let offset, offset >= 0, let attempts, attempts >= 0, let used, used >= 0 else { return nil }
        self.init(
            offset: offset, attempts: attempts, used: used, firstSentAt: firstSentAt, lastSentAt: lastSentAt,
            notBefore: notBefore)
    }
}
