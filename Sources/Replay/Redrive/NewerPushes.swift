/// The pushes that came after a plan, by what they replace, in a ``Scratch``. One owner, one thread.
final class NewerPushes {
    private let insert: Statement
    private let select: Statement

    init(_ scratch: Scratch) throws {
        try scratch.run("CREATE TABLE newer (subject, message, PRIMARY KEY (subject, message)) WITHOUT ROWID")
        insert = try Statement(scratch, "INSERT OR IGNORE INTO newer VALUES (?, ?)")
        select = try Statement(scratch, "SELECT 1 FROM newer WHERE subject = ? AND message <> ? LIMIT 1")
    }

    /// - Parameter subject: what it replaces.
    func note(_ messageID: [UInt8], of subject: Digest) throws {
        try insert.run(subject, messageID)
    }

    /// Whether there is another push that replaces the same. A repeated push has the same message id, and does not
    /// count.
    func hasOther(than messageID: [UInt8], of subject: Digest) throws -> Bool {
        try select.hasRow(subject, messageID)
    }
}

/// Determines which pushes an event produces, as far as the event alone shows: whatever the order's state, each status
/// is treated as a change, and the event as new. One owner.
struct EventPushes: ~Copyable {
    private var extractor: Extractor
    private var batch: EventBatch
    private var past: UnknownPast

    /// - Parameter isScheduled: the pipeline has timers, and sends no push for events that a timer announces.
    init(_ rules: ExtractionRules, topic: String, isScheduled: Bool) {
        extractor = Extractor(rules: rules)
        batch = EventBatch(.orders, topic: topic)
        past = UnknownPast(isScheduled: isScheduled)
    }

    /// - Parameters:
    ///   - events: the batch that holds the record's headers.
    ///   - body: receives each push; the order id is empty if there is none, and so are the audiences where only the
    ///     place's is named.
    mutating func visit(
        _ record: EventRecord, of events: borrowing EventBatch,
        _ body: (_ order: [UInt8], _ place: [UInt8], _ messageID: [UInt8], _ audiences: [String]) throws -> Void
    ) rethrows {
        batch.hold(record, of: events)
        _ = extractor.extract(0, in: &batch, history: &past)
        for push in batch.notifications {
            switch push.kind {
            case .request: continue
            case .order(let order):
                try body(
                    Array(batch.bytes(order.orderID)), Array(batch.bytes(order.placeID)),
                    Array(batch.bytes(push.messageID)), batch.audienceTexts(of: order))
            }
        }
    }
}

/// An order state that knows no order, and treats each status as a change.
private struct UnknownPast: OrderHistory {
    let isScheduled: Bool
    private static let noStatus: StaticString = "\u{0}"

    mutating func consider(_ event: OrderFacts) -> OrderVerdict {
        var verdict = OrderVerdict()
        verdict.previousStatus = UnsafeRawBufferPointer(
            start: Self.noStatus.utf8Start, count: Self.noStatus.utf8CodeUnitCount)
        if isScheduled, event.type.isSentByTimers { verdict.reason = .scheduledHere }
        return verdict
    }

    mutating func apply(_ event: OrderFacts) {}
}
