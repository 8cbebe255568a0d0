/// The fingerprints of the last sixteen records of ordinary size read from a partition, oldest first. A store recognises by
/// them the log that it came from (ADR 30).
package struct RecentFingerprints: Equatable, Sendable {
    package static let limit = 16
    /// In bytes.
    @inlinable
    package static var largestValue: Int { 1 << 20 }
    package private(set) var elements: [RecordFingerprint] = []

    package init() {}

    /// Whether a record with this value is remembered. Whoever compares the log has to read it again, and one of hundreds of
    /// megabytes takes longer than there is time.
    @inlinable
    package static func remembers(_ value: UnsafeRawBufferPointer?) -> Bool { (value?.count ?? 0) <= largestValue }

    /// Adds the newest; from the seventeenth on, the oldest is dropped. Allocates only for the first sixteen.
    package mutating func append(_ fingerprint: RecordFingerprint) {
        if elements.isEmpty { elements.reserveCapacity(Self.limit) }
        if elements.count == Self.limit { elements.removeFirst() }
        elements.append(fingerprint)
    }

    /// The texts of the fingerprints, separated by spaces; empty if there are none.
    package var text: String { elements.map(\.text).joined(separator: " ") }

    /// Nil if a word is not a fingerprint, or if there are more than sixteen.
    package init?(_ text: some StringProtocol) {
        for word in text.split(separator: " ") {
            guard elements.count < Self.limit, let fingerprint = RecordFingerprint(word) else { return nil }
            elements.append(fingerprint)
        }
    }

    /// Compares them with the records that the log has now.
    ///
    /// - Parameter found: records of the same partition, in any order; those at other offsets are ignored.
    package func judge(_ found: some Sequence<RecordFingerprint>) -> LogJudgement {
        let there = Dictionary(found.map { ($0.offset, $0) }) { first, _ in first }
        for stored in elements.reversed() {
            guard let record = there[stored.offset] else { continue }
            return record == stored ? .same : .other(found: record, stored: stored)
        }
        return .unknown
    }
}

/// Whether a partition's log is the one that a store came from. Decided by the newest stored fingerprint whose offset
/// the log still has.
package enum LogJudgement: Equatable, Sendable {
    case same
    /// Another record is at that offset: the topic was deleted and recreated, or restored from elsewhere.
    case other(found: RecordFingerprint, stored: RecordFingerprint)
    /// The log no longer has any of the records, because of compaction or retention: it may be the same.
    case unknown
}
