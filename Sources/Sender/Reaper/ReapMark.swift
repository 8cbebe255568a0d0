import KafkaClient
import Notifications

/// The header `dead` of what the reaper writes to `notifications.subscriptions`: `<evidence>/<offset judged>`. It is on
/// its nulls, and on what it writes again.
package struct ReapMark: Equatable, Sendable {
    package static let header = "dead"

    /// Since when the device is known to be dead.
    package var evidence: WallTime
    /// The latest version of the key that the writer knew of, in the same partition.
    package var judged: Int64

    package init(evidence: WallTime, judged: Int64) {
        self.evidence = evidence
        self.judged = judged
    }

    package var text: String { "\(evidence.milliseconds)/\(judged)" }

    /// Nil for a text that is none.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int64($0) }
        guard parts.count == 2, let evidence = parts[0], let judged = parts[1], evidence >= 0, judged >= 0 else {
            return nil
        }
        self.init(evidence: WallTime(milliseconds: evidence), judged: judged)
    }

    /// The mark of a record; nil for what others have written.
    init?(of record: ConsumerRecord) {
        guard let value = record.headers.last(where: { $0.name == Self.header })?.value else { return nil }
        self.init(String(decoding: value, as: UTF8.self))
    }

    var recordHeader: RecordHeader { RecordHeader(Self.header, Array(text.utf8)) }
}
