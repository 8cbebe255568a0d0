import NotificationPayload

/// Turns the bytes of an order event into notifications, by the rules of document 1 as docs/rules.md interpret them.
///
/// Pure: the same record gives the same bytes; time comes from the record. One owner, any thread. Allocates nothing per
/// event once its buffers fit the largest event.
package struct Extractor: ~Copyable {
    /// The oddities since the owner last reset them.
    package var notes = ExtractionNotes()
    /// What else the last event lacks, if it became a dead letter for something that it lacks.
    package internal(set) var alsoLacks: [DeadLetter] = []

    let zones: PlaceZones
    let onMissingOrderID: ExtractionRules.MissingOrderID
    let audiences: AudienceTemplates
    let mapped: MappedBuffers
    private let infersStatusChanges: Bool
    private var envelopes = EnvelopeReader()
    var identity = MessageIdentity()
    var arena = TextArena()
    /// The fields that a type of the settings adds to the payload at hand.
    var addedFields: [OrderPayloadBytes.Field] = []
    var listedIDs = NotificationIDs()
    /// What the event of a list says of its orders' delivery, in each zone that was asked for.
    var listedTimes: [(zone: TimeZoneTable, delivery: DeliveryTime)] = []

    package init(rules: ExtractionRules) {
        zones = rules.zones
        onMissingOrderID = rules.onMissingOrderID
        audiences = rules.audiences
        mapped = MappedBuffers(rules.members)
        infersStatusChanges = rules.infersStatusChanges
    }

    /// Extracts `batch.records[record]` and appends its notifications and their text.
    ///
    /// Never throws and never traps, whatever the bytes. Unless it returns `.notifications`, the batch's notifications
    /// and text are unchanged. One event appends at most 120 MB of text, so stop at ``EventBatch/isFull``.
    ///
    /// - Parameter history: the past of the orders; see ``OrderHistory``.
    package mutating func extract<History: OrderHistory & ~Copyable>(
        _ record: Int, in batch: inout EventBatch, history: inout History
    ) -> ExtractionOutcome {
        let notifications = batch.notifications.count
        let audiences = batch.audiences.count
        let text = batch.text.count
        if !alsoLacks.isEmpty { alsoLacks.removeAll() }
        do throws(DeadLetter) {
            if let reason = try process(record, in: &batch, history: &history) {
                return .suppressed(reason)
            }
            return .notifications(batch.notifications.count - notifications)
        } catch {
            batch.truncate(notifications: notifications, audiences: audiences, text: text)
            return .deadLetter(error)
        }
    }

    /// Appends at least one notification, or returns why it did not.
    private mutating func process<History: OrderHistory & ~Copyable>(
        _ record: Int, in batch: inout EventBatch, history: inout History
    ) throws(DeadLetter) -> SuppressionReason? {
        guard let value = batch.records[record].value else { throw .nullValue }
        arena.truncate()
        var attributes = RecordHeaders()
        let headers = batch.records[record].headers
        if !headers.isEmpty {
            attributes = RecordHeaders(batch.headers[headers])
            batch.records[record].traceparent = attributes.traceparent
            if attributes.lacksValidTraceparent { notes.ignoredTraceparents += 1 }
        }
        let names = mapped.body
        let members = try envelopes.body(of: value, attributes: &attributes, texts: &arena) { EventMembers($0, names) }
        let named = try eventType(of: members, attributes: attributes)
        let type = named ?? .known(.orderStatusChanged)
        let time = eventTime(of: members, attributes: attributes, timestamp: batch.records[record].timestamp)
        beginIdentity(of: members, attributes: attributes, record: record, in: batch)
        identity.end(type: type.name)
        let event = Event(
            record: record, type: type, time: time, members: members, isSnapshot: named == nil,
            isRedriven: attributes.original != nil)
        switch type {
        case .known(.orderIDsListed):
            return try processList(event, in: &batch)
        case .known(.orderCreated), .known(.orderStatusChanged), .known(.timeslotStarted),
            .known(.unpickedOrdersReminder), .own:
            return try processOrder(event, in: &batch, history: &history)
        }
    }

    /// The first type present counts, known or not. Nil for a snapshot, if the rules accept those.
    private mutating func eventType(
        of members: EventMembers, attributes: RecordHeaders
    ) throws(DeadLetter) -> OrderEventType? {
        guard let name = arena.text(members.values(of: .eventType)) ?? attributes.ceType ?? attributes.outboxType else {
            if infersStatusChanges { return nil }
            throw .untyped
        }
        guard let type = audiences.types.type(upstreamName: name) else { throw .unknownType(name) }
        return type
    }

    /// The first valid time (docs/rules.md §5.2, "Event time").
    private func eventTime(
        of members: EventMembers, attributes: RecordHeaders, timestamp: WallTime?
    ) -> WallTime {
        if let bytes = attributes.ceTime, let time = Moment(bytes)?.eventTime {
            return time
        }
        if let time = members.values(of: .occurredAt).firstValid({ Moment($0)?.eventTime }) {
            return time
        }
        return timestamp?.validated ?? .epoch
    }

    /// The identity of the event: the first source present (docs/rules.md §6).
    private mutating func beginIdentity(
        of members: EventMembers, attributes: RecordHeaders, record: Int, in batch: borrowing EventBatch
    ) {
        if let source = attributes.ceSource, let id = attributes.ceID {
            identity.begin(tag: "ce")
            identity.append(source)
            identity.append(id)
        } else if let id = attributes.outboxID {
            identity.begin(tag: "outbox")
            identity.append(id)
        } else if let id = arena.text(members.values(of: .eventID)) {
            identity.begin(tag: "event")
            identity.append(id)
        } else {
            identity.begin(tag: "kafka", coordinatesOf: record, in: batch, attributes: attributes)
        }
    }
}

/// An event without its envelopes.
struct Event {
    let record: Int
    let type: OrderEventType
    let time: WallTime
    let members: EventMembers
    /// It has no type: it counts as a status change if the status differs from the previous one.
    let isSnapshot: Bool
    /// It was put back from the dead letters.
    let isRedriven: Bool
}
