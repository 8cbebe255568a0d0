import Events
import Extraction
import Pipeline
import StateStore

/// The pushes that came after a plan, by what they replace, in a scratch store. One owner, one thread.
final class NewerPushes {
    private let store: any OrderedStore
    private let reader: any StoreReader
    private var pending: Set<[UInt8]> = []
    private var found: [StoreEntry] = []
    private static let flushLimit = 20_000

    /// - Parameter store: empty, and used by nobody else.
    init(store: any OrderedStore) throws(StoreError) {
        self.store = store
        reader = try store.makeReader()
        try reader.begin()
    }

    /// - Parameter subject: what it replaces.
    func note(_ messageID: [UInt8], of subject: Digest) throws(StoreError) {
        pending.insert(subject.bytes + Digest(hashing: messageID).bytes)
        if pending.count >= Self.flushLimit { try flush() }
    }

    /// Writes what was added. Call it before querying.
    func flush() throws(StoreError) {
        guard !pending.isEmpty else { return }
        reader.end()
        try store.write { writer throws(StoreError) in try writer.put(pending.map { (key: $0, value: [1]) }) }
        pending.removeAll(keepingCapacity: true)
        try reader.begin()
    }

    /// Whether there is another push that replaces the same. A repeated push has the same message id, and does not
    /// count.
    func hasOther(than messageID: [UInt8], of subject: Digest) throws(StoreError) -> Bool {
        found.removeAll(keepingCapacity: true)
        try subject.bytes.withStored { prefix throws(StoreError) in
            try reader.append(startingWith: prefix, limit: 2, to: &found)
        }
        let own = subject.bytes + Digest(hashing: messageID).bytes
        return found.contains { !$0.key.elementsEqual(own) }
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
    ///   - body: receives each push; the order id is empty if there is none.
    mutating func visit(
        _ record: EventRecord, of events: borrowing EventBatch,
        _ body: (_ order: [UInt8], _ place: [UInt8], _ messageID: [UInt8]) throws -> Void
    ) throws {
        batch.hold(record, of: events)
        _ = extractor.extract(0, in: &batch, history: &past)
        for push in batch.notifications {
            switch push.kind {
            case .request: continue
            case .order(let order):
                try body(
                    Array(batch.bytes(order.orderID)), Array(batch.bytes(order.placeID)),
                    Array(batch.bytes(push.messageID)))
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
