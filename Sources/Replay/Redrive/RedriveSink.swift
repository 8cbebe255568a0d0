import DispatchRecords
import Events
import Pipeline
import StateStore

/// Lists the pushes that a re-drive may send, and records the latest notification of each order, selected or not. Reads
/// no clock.
package struct RedriveSink: ~Copyable, ReplaySink {
    /// The state of the current notification, whose records come together.
    private struct Current {
        var messageID: [UInt8]
        var source: [UInt8]
        var order: Digest
        var digest: Digest
        var omission: RedriveOmission?
        var isSelected: Bool
    }

    private let rules: RedriveRules
    private let list: RedriveList
    private let latest: LatestPushes
    private var reader: DispatchReader
    private var filter: EventFilter?
    private var timers: TimerFilter?
    private var isEventSelected = true
    private var areTimers = false
    private var clock: Int64?
    private var current: Current?
    /// Selected devices that are left out, by reason.
    package private(set) var omitted: [RedriveOmission: Int] = [:]

    /// - Parameter scratch: for two stores: the latest notifications, and the list.
    package init(
        _ rules: RedriveRules, _ configuration: PipelineConfiguration, list: RedriveList, latest: any OrderedStore
    ) throws {
        self.latest = try LatestPushes(store: latest)
        self.rules = rules
        self.list = list
        reader = DispatchReader(topic: configuration.topics.events)
        guard !rules.filter.isEmpty else { return }
        filter = EventFilter(
            rules.filter, extraction: configuration.rules, topic: configuration.topics.events)
        timers = TimerFilter(rules: rules.filter)
    }

    package var seesEvents: Bool { filter != nil }

    package mutating func begin(_ step: JournalStep?, areTimers: Bool) {
        self.areTimers = areTimers
        clock = step?.clock
        current = nil
    }

    package mutating func see(_ event: EventRecord, in batch: borrowing EventBatch) {
        isEventSelected = filter?.selects(event, of: batch) ?? true
    }

    package mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) throws {
        guard let identity = reader.identity(of: record) else { return }
        let known = try consider(record, notification, event, identity)
        guard known.isSelected else { return }
        if let omission = known.omission {
            omitted[omission, default: 0] += 1
            return
        }
        try list.append(
            RedriveList.Candidate(
                order: known.order, notification: known.digest, time: notification.eventTime.milliseconds,
                type: notification.type, record: RenderedRecord(record)),
            as: identity)
    }

    package mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) {}

    /// Judges a notification at its first record.
    private mutating func consider(
        _ record: DispatchRecord, _ notification: Notification, _ event: EventRecord, _ identity: DispatchIdentity
    ) throws -> Current {
        let messageID = try record.messageID
        let source = try record.source.text
        if let current, current.messageID.elementsEqual(messageID), current.source.elementsEqual(source) {
            return current
        }
        let payload = PushPayload(value: Array(record.value))
        let order = payload?["order_id"] ?? ""
        // Pushes without an order id are unrelated to each other.
        let subject = order.isEmpty ? Array(source) + Array(messageID) : Array(order.utf8)
        let digest = Digest(hashing: Array(source) + [0] + Array(messageID))
        let time = notification.eventTime.milliseconds
        let found = Current(
            messageID: Array(messageID), source: Array(source),
            order: Digest(ofOrder: subject, at: Array((payload?["place_id"] ?? "").utf8)), digest: digest,
            omission: rules.reasonAgainst(
                time: time, expiresAt: try record.expiresAt.milliseconds, clock: clock),
            isSelected: rules.selects(identity.partition, identity.offset, isTimer: identity.isTimer)
                && (areTimers ? timers?.selects(event, notification.type, record.value) ?? true : isEventSelected))
        try latest.note(
            digest, of: found.order,
            LatestPushes.Rank(
                partition: identity.partition, offset: identity.offset, isTimer: identity.isTimer,
                time: event.timestamp?.milliseconds ?? time))
        current = found
        return found
    }

    /// Call it after the last record: removes from the list what must not be sent.
    ///
    /// A replaced notification is removed whether the one that replaced it was sent or not.
    /// - Parameter dispatched: what was already sent; nil: that does not matter.
    package consuming func finish(dispatched: DispatchIndex?) throws -> RedrivePlan {
        try latest.flush()
        try list.flush()
        var plan = RedrivePlan(omitted: omitted)
        var last: Digest?
        try list.filter { key, identity, candidate in
            // Sent by this re-drive before it was interrupted.
            if !rules.sentUpTo.isEmpty, !rules.sentUpTo.lexicographicallyPrecedes(key) { return false }
            guard try latest.isLatest(candidate.notification, of: candidate.order) else {
                plan.omitted[.replaced, default: 0] += 1
                return false
            }
            if let dispatched, try !dispatched.entries(of: identity).isEmpty {
                plan.omitted[.alreadySent, default: 0] += 1
                return false
            }
            if let dispatched, try candidate.record.withDispatchRecord({ try dispatched.isSent($0) }) {
                plan.omitted[.otherSource, default: 0] += 1
                return false
            }
            let record = candidate.record
            plan.plan.note(
                type: candidate.type, time: candidate.time, bytes: record.key.count + record.value.count,
                beginsNotification: candidate.notification != last,
                example: record.withDispatchRecord { ReplayPlan.Example(candidate.time, candidate.type, $0) })
            last = candidate.notification
            return true
        }
        return plan
    }
}

/// What a re-drive would send, and what it leaves out.
package struct RedrivePlan: Sendable {
    package var plan = ReplayPlan()
    /// Devices, by reason.
    package var omitted: [RedriveOmission: Int] = [:]
    /// What was determined before the replay.
    package var input = ReplayInput()

    package init(omitted: [RedriveOmission: Int] = [:]) {
        self.omitted = omitted
    }

    /// The number of pushes to send.
    package var devices: Int { plan.devices }
}

extension Digest {
    /// The identity of an order at a place.
    init(ofOrder order: [UInt8], at place: [UInt8]) { self.init(hashing: order + [0] + place) }
}
