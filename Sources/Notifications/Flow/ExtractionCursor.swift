/// The core's position in what it has extracted: the events of a batch, or the timers of a slice.
///
/// Every batch, refold, slice of timers and abort resets it, and only through ``restart(at:)``.
struct ExtractionCursor {
    /// The outcome of each extracted record, from ``first`` on, and the timers that it cancelled.
    private var outcomes: [ExtractionOutcome] = []
    private var cancelled: [CancelledTimers] = []
    private var first = 0
    private var source = SourceKind.orders
    /// The records before this one have been emitted.
    var nextRecord = 0
    /// The notifications before this one have been emitted, or were skipped with their event.
    var nextNotification = 0
    /// The notifications before this one have their recipients.
    var resolvedEnd = 0

    /// Forgets everything; `record` of a batch of this source is extracted next.
    mutating func restart(at record: Int = 0, of source: SourceKind = .orders) {
        self.source = source
        outcomes.removeAll(keepingCapacity: true)
        cancelled.removeAll(keepingCapacity: true)
        first = record
        nextRecord = record
        nextNotification = 0
        resolvedEnd = 0
    }

    /// The next record has been extracted.
    mutating func append(_ outcome: ExtractionOutcome, cancelling timers: CancelledTimers) {
        outcomes.append(outcome)
        cancelled.append(timers)
    }

    /// The outcome of an extracted record.
    subscript(record: Int) -> ExtractionOutcome {
        get { outcomes[record - first] }
        set { outcomes[record - first] = newValue }
    }

    func cancelledTimers(by record: Int) -> CancelledTimers { cancelled[record - first] }

    /// How many records of a source were extracted and not emitted.
    func notEmitted(of source: SourceKind) -> Int {
        self.source == source ? max(0, first + outcomes.count - nextRecord) : 0
    }

    /// Advances over the next notifications, and returns them.
    mutating func takeNotifications(_ count: Int) -> Range<Int> {
        let notifications = nextNotification..<nextNotification + count
        nextNotification = notifications.upperBound
        return notifications
    }

    /// Forgets the resolved recipients: their snapshot has been released.
    mutating func forgetRecipients() { resolvedEnd = nextNotification }
}
