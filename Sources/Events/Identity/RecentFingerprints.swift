/// The fingerprints of the last sixteen records that were taken from a partition, the oldest first: by them a store
/// recognises the log that it came from (ADR 30).
package struct RecentFingerprints: Equatable, Sendable {
    package static let limit = 16
    package private(set) var elements: [RecordFingerprint] = []

    package init() {}

    /// Adds the newest; beyond sixteen the oldest goes. Allocates for the first sixteen alone.
    package mutating func append(_ fingerprint: RecordFingerprint) {
        if elements.isEmpty { elements.reserveCapacity(Self.limit) }
        if elements.count == Self.limit { elements.removeFirst() }
        elements.append(fingerprint)
    }

    /// The fingerprints' own texts with a space between two of them; empty where there is none.
    package var text: String { elements.map(\.text).joined(separator: " ") }

    /// Nil where a word is no fingerprint, or where there are more than sixteen.
    package init?(_ text: some StringProtocol) {
        for word in text.split(separator: " ") {
            guard elements.count < Self.limit, let fingerprint = RecordFingerprint(word) else { return nil }
            elements.append(fingerprint)
        }
    }

    /// Compares them with the records that the log has now.
    ///
    /// - Parameter found: records of the same partition, in any order; those at other offsets do not count.
    package func judge(_ found: some Sequence<RecordFingerprint>) -> LogJudgement {
        let there = Dictionary(found.map { ($0.offset, $0) }) { first, _ in first }
        for stored in elements.reversed() {
            guard let record = there[stored.offset] else { continue }
            return record == stored ? .same : .other(found: record, stored: stored)
        }
        return .unknown
    }
}

/// Whether a partition's log is the one that a store came from. The newest stored fingerprint whose offset the log still
/// has decides.
package enum LogJudgement: Equatable, Sendable {
    case same
    /// Another record stands at that offset: the topic was deleted and created again, or restored from elsewhere.
    case other(found: RecordFingerprint, stored: RecordFingerprint)
    /// The log has none of the records any more, by compaction or retention: it may be the same.
    case unknown
}
