import NotificationPayload
import Registrar

/// Lists the pushes that a re-drive may send, and records the latest ones, selected or not: the notification of each order,
/// and a device's push of each collapse key of requests. Reads no clock.
package struct RedriveSink: ~Copyable, ReplaySink {
    /// The state of the current notification, whose records come together.
    private struct Current {
        var messageID: [UInt8]
        var source: [UInt8]
        /// Of an order's: what a later one replaces.
        var subject: Digest
        var digest: Digest
        var audiences: [String]
        var omission: RedriveOmission?
        var isSelected: Bool
    }

    private let rules: RedriveRules
    private let erased: SuppressionList
    private let list: RedriveList
    private let latest: LatestPushes
    private var reader: DispatchReader
    private var filter: EventFilter?
    private var timers: TimerFilter?
    private var requests: RequestReader
    /// Nil where all events are for their places.
    private var events: EventPushes?
    private let templates: AudienceTemplates
    /// Of the request at hand.
    private var audiences: [String] = []
    /// Of the event at hand, by message id.
    private var audiencesOfOrders: [[UInt8]: [String]] = [:]
    private var isEventSelected = true
    private var source = SourceKind.orders
    private var areTimers = false
    private var step: JournalStep?
    private var current: Current?
    /// Selected devices that are left out, by reason.
    package private(set) var omitted: [RedriveOmission: Int] = [:]

    /// - Parameter scratch: for the latest notifications.
    package init(
        _ rules: RedriveRules, _ configuration: PipelineConfiguration, list: RedriveList, _ scratch: Scratch,
        erased: SuppressionList = SuppressionList()
    ) throws {
        self.erased = erased
        latest = try LatestPushes(scratch)
        self.rules = rules
        self.list = list
        reader = DispatchReader(topics: configuration.topics)
        requests = RequestReader(configuration.requests, topic: configuration.topics.requests)
        templates = configuration.rules.audiences
        events =
            templates.counted.isEmpty
            ? nil : EventPushes(configuration.rules, topic: configuration.topics.events, isScheduled: false)
        guard !rules.filter.isEmpty else { return }
        filter = EventFilter(rules.filter, configuration)
        timers = TimerFilter(rules: rules.filter)
    }

    package var seesEvents: Bool {
        switch source {
        case .orders: filter != nil || events != nil
        case .requests: true
        }
    }

    package mutating func begin(_ step: JournalStep?, of source: SourceKind, areTimers: Bool) {
        self.source = source
        self.areTimers = areTimers
        self.step = step
        current = nil
    }

    package mutating func see(_ event: EventRecord, in batch: borrowing EventBatch) {
        isEventSelected = filter?.selects(event, of: batch) ?? true
        switch batch.source {
        case .orders:
            guard !templates.counted.isEmpty else { return }
            var found: [[UInt8]: [String]] = [:]
            events?.visit(event, of: batch) { found[$2] = $3 }
            audiencesOfOrders = found
        case .requests: audiences = requests.read(event, of: batch).audiences
        }
    }

    package mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) throws {
        guard let identity = reader.identity(of: record) else { return }
        let known = try consider(record, notification, event, identity)
        guard known.isSelected else { return }
        if let omission = erased.includes(record, from: event, in: step) ? .erased : known.omission {
            omitted[omission, default: 0] += 1
            return
        }
        try list.append(
            RedriveList.Entry(
                identity, subject: known.subject, notification: known.digest, time: notification.eventTime,
                type: notification.type, audiences: known.audiences, record: RenderedRecord(record)))
    }

    /// Judges an order's notification at its first record, and a request's at each.
    private mutating func consider(
        _ record: DispatchRecord, _ notification: Notification, _ event: EventRecord, _ identity: DispatchIdentity
    ) throws -> Current {
        let messageID = try record.messageID
        let source = try record.source.text
        if let current, current.messageID.elementsEqual(messageID), current.source.elementsEqual(source) {
            return current
        }
        let payload = PushPayload(value: Array(record.value))
        let digest = Digest(hashing: Array(source) + [0] + Array(messageID))
        let (subject, audiences) =
            switch notification.kind {
            case .order(let order):
                subject(ofOrder: payload, order.eventType, Array(messageID), orElse: Array(source) + Array(messageID))
            case .request: (Digest(ofRequest: record, payload), audiences)
            }
        let coordinates = identity.event
        let found = Current(
            messageID: Array(messageID), source: Array(source), subject: subject, digest: digest, audiences: audiences,
            omission: rules.reasonAgainst(
                time: notification.eventTime, expiresAt: try record.expiresAt),
            isSelected: rules.selects(coordinates.partition, coordinates.offset, isTimer: identity.isTimer)
                && (areTimers ? timers?.selects(event, notification.type, record.value) ?? true : isEventSelected))
        try latest.note(
            digest, of: found.subject,
            LatestPushes.Rank(
                partition: coordinates.partition.number, offset: coordinates.offset, isTimer: identity.isTimer,
                time: event.timestamp ?? notification.eventTime))
        // Devices replace a request's pushes each for itself.
        if case .request = notification.kind { return found }
        current = found
        return found
    }

    /// - Parameter own: unique to the notification: pushes without an order id are unrelated to each other.
    private func subject(
        ofOrder payload: PushPayload?, _ type: OrderEventType, _ messageID: [UInt8], orElse own: [UInt8]
    ) -> (Digest, audiences: [String]) {
        let order = payload?["order_id"] ?? ""
        let place = payload?["place_id"]
        let subject = Digest(ofOrder: order.isEmpty ? own : Array(order.utf8), at: Array((place ?? "").utf8))
        if let named = audiencesOfOrders[messageID], !areTimers, !named.isEmpty { return (subject, named) }
        return (subject, place.map { templates.audiences(of: type, atPlace: $0) } ?? [])
    }

    /// Call it after the last record: removes from the list what must not be sent.
    ///
    /// A replaced notification is removed whether the one that replaced it was sent or not.
    /// - Parameters:
    ///   - dispatched: what was already sent; nil: nothing.
    ///   - id: of the run: what it has sent is not to be sent.
    ///   - outcomes: what became of that; nil: what was sent is not sent again.
    package consuming func finish(
        dispatched: DispatchIndex?, by id: String = "", outcomes: DeliveredPushes? = nil
    ) throws -> RedrivePlan {
        var plan = RedrivePlan(omitted: omitted)
        plan.done = dispatched?.redriven[id] ?? 0
        var last: Digest?
        try list.filter { candidate in
            if let dispatched, try dispatched.has(candidate.identity, by: id) { return false }
            guard try latest.isLatest(candidate.notification, of: candidate.subject) else {
                plan.omitted[.replaced, default: 0] += 1
                return false
            }
            let record = candidate.record
            if let dispatched, rules.choice != .all,
                let reason = try Self.reason(against: record, candidate.identity, dispatched, outcomes)
            {
                plan.omitted[reason, default: 0] += 1
                return false
            }
            plan.plan.note(
                type: candidate.type, time: candidate.time, bytes: record.key.count + record.value.count,
                beginsNotification: candidate.notification != last,
                example: record.withDispatchRecord { ReplayPlan.Example(candidate.time, candidate.type, $0) })
            last = candidate.notification
            return true
        }
        return plan
    }

    /// Why a push is left out, by what became of it before.
    private static func reason(
        against record: RenderedRecord, _ identity: DispatchIdentity, _ dispatched: DispatchIndex,
        _ outcomes: DeliveredPushes?
    ) throws -> RedriveOmission? {
        let entries = try dispatched.entries(of: identity)
        return try record.withDispatchRecord { record in
            if let outcomes { return try outcomes.reason(against: record, at: entries.map(\.coordinates)) }
            if !entries.isEmpty { return .alreadySent }
            return try dispatched.isSent(record) ? .otherSource : nil
        }
    }
}

/// What a re-drive would send, and what it leaves out.
package struct RedrivePlan: Sendable, ResendPlan {
    package var plan = ReplayPlan()
    /// Devices, by reason.
    package var omitted: [RedriveOmission: Int] = [:]
    /// What was determined before the replay.
    package var input = ReplayInput()

    /// The pushes of the replayed range that this run has sent, selected or not.
    package var done = 0

    package var remaining: Int { plan.devices }
}

extension Digest {
    /// The identity of an order at a place.
    init(ofOrder order: [UInt8], at place: [UInt8]) { self.init(hashing: order + [0] + place) }

    /// The identity of what a device shows under a request's collapse key, or without one under its message id.
    init(ofRequest record: DispatchRecord, _ payload: PushPayload?) {
        let key = (try? record.platform).flatMap { payload?.collapseKey($0) } ?? record.text(.messageID) ?? ""
        self.init(hashing: Array("request".utf8) + [0] + Array(key.utf8) + [0] + Array(record.key))
    }
}
