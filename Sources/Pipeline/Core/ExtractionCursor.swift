import Events
import OrderState

/// How far the core has come with what it has extracted: events of a batch, or the timers of a slice.
///
/// Every batch, refold, slice of timers and abort begins it again, by ``restart(at:)`` and by nothing else.
struct ExtractionCursor {
    /// What came of each extracted record, from ``first`` on, and the timers that it settled.
    private var outcomes: [ExtractionOutcome] = []
    private var settled: [SettledTimers] = []
    private var first = 0
    /// The records before this one have been emitted.
    var nextRecord = 0
    /// The notifications before this one have been emitted, or were skipped with their event.
    var nextNotification = 0
    /// The notifications before this one have their recipients.
    var resolvedEnd = 0

    /// Forgets everything; what is extracted next is `record`.
    mutating func restart(at record: Int = 0) {
        outcomes.removeAll(keepingCapacity: true)
        settled.removeAll(keepingCapacity: true)
        first = record
        nextRecord = record
        nextNotification = 0
        resolvedEnd = 0
    }

    /// The next record has been extracted.
    mutating func append(_ outcome: ExtractionOutcome, settling timers: SettledTimers) {
        outcomes.append(outcome)
        settled.append(timers)
    }

    /// What came of an extracted record.
    subscript(record: Int) -> ExtractionOutcome {
        get { outcomes[record - first] }
        set { outcomes[record - first] = newValue }
    }

    func settledTimers(by record: Int) -> SettledTimers { settled[record - first] }

    /// How many records were extracted and not emitted.
    var notEmitted: Int { max(0, first + outcomes.count - nextRecord) }

    /// Goes over the next notifications, and returns them.
    mutating func takeNotifications(_ count: Int) -> Range<Int> {
        let notifications = nextNotification..<nextNotification + count
        nextNotification = notifications.upperBound
        return notifications
    }

    /// The recipients that were found are of a snapshot that is gone.
    mutating func forgetRecipients() { resolvedEnd = nextNotification }
}
