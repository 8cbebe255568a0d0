import JSONReader
import Registrar

/// What has changed since a re-drive was planned, and which pushes of its list must therefore not be sent.
///
/// Reads no clock and no log: both are passed in. One owner, one thread. Its input is in a ``Scratch``.
final class RedriveNews {
    private let rules: RedriveRules
    /// By partition, the end of the events and requests that the plan replayed.
    private let planned: [SourcePartition: Int64]
    private let newer: NewerPushes
    private let dispatched: DispatchIndex?
    private let newFrom: [Int32: Int64]
    private let subscriptions: SubscriptionHistory
    /// By partition of the subscriptions topic, its end when the re-drive was planned.
    private let table: [Int64]
    private var devices: SubscriptionHistoryReader
    /// Since the plan.
    private var erased = SuppressionList()
    private var reader = JSONReader()
    private var events: EventPushes
    private var dispatch: DispatchReader
    /// Notifications whose payload was already read, so that it is not read again for each device.
    private var seen: Set<Digest> = []
    private static let mostSeen = 10_000

    /// - Parameters:
    ///   - planned: by partition, the end of what the plan replayed.
    ///   - table: by partition of the subscriptions topic, its end when the re-drive was planned.
    ///   - dispatched: what the plan found in the dispatch topic; nil: pushes already sent do not matter.
    ///   - newFrom: by partition of the dispatch topic, where records begin that the plan did not know; none: all count
    ///     as already sent.
    init(
        _ rules: RedriveRules, _ configuration: PipelineConfiguration, planned: [SourcePartition: Int64],
        table: [Int64],
        dispatched: DispatchIndex?, newFrom: [Int32: Int64] = [:], subscriptions: SubscriptionHistory,
        scratch: Scratch
    ) throws {
        newer = try NewerPushes(scratch)
        devices = try subscriptions.makeReader(.now)
        devices.positions = table
        events = EventPushes(
            configuration.rules, topic: configuration.topics.events, isScheduled: configuration.orders.schedule != nil)
        dispatch = DispatchReader(topics: configuration.topics)
        self.rules = rules
        self.planned = planned
        self.table = table
        self.dispatched = dispatched
        self.newFrom = newFrom
        self.subscriptions = subscriptions
    }

    // MARK: Taking

    /// Takes an event that came after the plan.
    func note(_ event: EventRecord, of batch: borrowing EventBatch) throws {
        try events.visit(event, of: batch) { order, place, messageID, _ in
            if !order.isEmpty { try newer.note(messageID, of: Digest(ofOrder: order, at: place)) }
        }
    }

    /// Takes a record of the dispatch topic that came after the plan, whoever wrote it: timers leave no event.
    func note(_ record: DispatchRecord, at coordinates: Coordinates) throws {
        guard let identity = dispatch.identity(of: record), let source = record[.source],
            let messageID = record[.messageID]
        else { return }
        try dispatched?.append(record, at: coordinates)
        // A push from before the plan's end is on the list, or was replaced by one that is.
        guard let end = planned[identity.event.partition], identity.event.offset >= end else { return }
        switch identity.event.partition.source {
        case .orders:
            if seen.count > Self.mostSeen { seen.removeAll() }
            guard seen.insert(Digest(hashing: Array(source) + [0] + Array(messageID))).inserted else { return }
            guard let payload = PushPayload(value: Array(record.value)), let order = payload["order_id"], !order.isEmpty
            else { return }
            try newer.note(
                Array(messageID), of: Digest(ofOrder: Array(order.utf8), at: Array((payload["place_id"] ?? "").utf8)))
        case .requests:
            let payload = PushPayload(value: Array(record.value))
            try newer.note(Array(messageID), of: Digest(ofRequest: record, payload))
        }
    }

    /// Takes a record of the subscriptions topic that came after the plan.
    func note(_ record: SubscriptionRecord, at time: WallTime) throws {
        try subscriptions.append(record, at: time)
    }

    /// Takes an erasure that came after the plan.
    func noteErasure(key: [UInt8]?, value: [UInt8]?) { erased.take(key: key, value: value, &reader) }

    // MARK: Judging

    /// What is to be done with a push on the list now.
    ///
    /// - Parameter id: of the run.
    func verdict(on push: RedriveList.Entry, by id: String, now: WallTime) throws -> ResendVerdict<RedriveOmission> {
        if try dispatched?.has(push.identity, by: id) ?? false { return .sent }
        return try reason(against: push, now: now).map(ResendVerdict.leaveOut) ?? .send
    }

    /// Why a push on the list must not be sent now; nil if it may be.
    func reason(against push: RedriveList.Entry, now: WallTime) throws -> RedriveOmission? {
        var rules = rules
        rules.now = now
        let (messageID, expiry, isErased) = try push.record.withDispatchRecord { record in
            (Array(try record.messageID), try record.expiresAt, erased.includes(record, since: push.time))
        }
        if isErased { return .erased }
        if let reason = rules.reasonAgainst(time: push.time, expiresAt: expiry) { return reason }
        if try isGone(push) { return .unsubscribed }
        if let dispatched, try dispatched.entries(of: push.identity).contains(where: isNew) { return .alreadySent }
        return try newer.hasOther(than: messageID, of: push.subject) ? .replaced : nil
    }

    private func isNew(_ entry: DispatchIndex.Entry) -> Bool {
        switch rules.choice {
        case .all: false
        case .missed, .undelivered: entry.coordinates.offset >= newFrom[entry.coordinates.partition] ?? 0
        }
    }

    /// Whether its device has unsubscribed since the re-drive was planned, and has no other of its audiences.
    private func isGone(_ push: RedriveList.Entry) throws -> Bool {
        let device = String(decoding: push.record.key, as: UTF8.self)
        var isGone = false
        for audience in push.audiences {
            guard let last = try devices.versions(of: audience, tokenHash: device).last else { continue }
            if last.isSubscribed { return false }
            if !last.isBelowPositions { isGone = true }
        }
        return isGone
    }
}
