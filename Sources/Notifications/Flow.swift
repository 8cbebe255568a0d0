/// The whole flow, with no broker in it: records and ticks in, records out.
///
///           records ─► extract ─► resolve (who) ─► render (what) ─► dispatch
///                      │    ▲         ▲    └───────────┴──────────► dead letters
///               folded ▼    │ past    │
///            the state of orders ─────┘ due timers ◄── tick
///            and the ids of requests
///
/// Deterministic: its output depends only on the records, the ticks, the rules and the snapshot of the subscriptions. It
/// reads no clock and does no I/O. Uncommitted work can be rolled back, and repeated with the same result. One owner; not
/// to be shared between threads.
package struct Flow: ~Copyable {
    /// One value for each ``SourceKind``.
    package var orders: OrderSource
    package var requests: RequestSource
    var fanOut: FanOut
    var renderer: MessageRenderer
    var deadLetters = DeadLetterHeaders()
    let maxDevicesPerEvent: Int
    let maxBytesPerEvent: Int
    /// Of the pushes of the event that is prepared.
    var preparedBytes = 0
    var cursor = ExtractionCursor()
    /// The transaction's clock.
    package var clock = WallTime.epoch

    /// What has been emitted since ``beginTransaction()``.
    package internal(set) var counts = Counts()
    /// The first dead letter since then.
    package internal(set) var firstDeadLetter: DeadLetterPosition?

    package init(
        rules: ExtractionRules, orders: OrderRules, requests: RequestRules, rendering: RenderSettings,
        maxDevicesPerEvent: Int, maxBytesPerEvent: Int, fanOut: consuming FanOut, findings: RequestFindings? = nil
    ) {
        self.orders = OrderSource(rules: rules, orders: orders)
        self.requests = RequestSource(rules: requests, findings: findings)
        self.fanOut = fanOut
        self.renderer = MessageRenderer(settings: rendering)
        self.maxDevicesPerEvent = maxDevicesPerEvent
        self.maxBytesPerEvent = maxBytesPerEvent
    }

    /// Extracts the records of a batch from `first` on, as many as the batch has room for, at least one.
    ///
    /// - Returns: the first record that was not extracted. Emit what was before the next call.
    package mutating func extract(_ batch: inout EventBatch, from first: Int) -> Int {
        batch.removeNotifications()
        cursor.restart(at: first, of: batch.source)
        orders.states.hasBoundedTimes = false
        requests.states.hasBoundedTimes = false
        let end = batch.records.count
        var record = first
        switch batch.source {
        case .orders:
            while record < end, record == first || !batch.isFull {
                let (outcome, cancelled) = orders.extract(record, in: &batch)
                cursor.append(outcome, cancelling: cancelled)
                record += 1
            }
        case .requests:
            while record < end, record == first || !batch.isFull {
                cursor.append(requests.extract(record, in: &batch), cancelling: CancelledTimers())
                record += 1
            }
        }
        replaceUnreadable(first..<record, in: batch)
        return record
    }

    /// Writes the output of these extracted records, event by event, until the transaction has `limit` records or is too
    /// old. An event is never split, and at least one is written.
    ///
    /// - Returns: the first record that has not been written.
    /// - Throws: what the sink, the resolver or the audience rule throws; emit the batch again then.
    package mutating func emit<Sink: RecordSink & ~Copyable>(
        _ batch: borrowing EventBatch, _ records: Range<Int>, limit: Int, isTimeUp: () -> Bool = { false },
        into sink: inout Sink
    ) throws -> Int {
        var record = records.lowerBound
        // The clock is read once per so many records.
        var nextLook = written + Self.recordsBetweenLooks
        while record < records.upperBound, written < limit || record == records.lowerBound {
            if written >= nextLook, record > records.lowerBound {
                if isTimeUp() { break }
                nextLook = written + Self.recordsBetweenLooks
            }
            counts.countEvent(of: batch.source)
            cancel(cursor.cancelledTimers(by: record), batch.records[record], into: &sink)
            switch cursor[record] {
            case .deadLetter(let letter):
                skipNotifications(of: record, in: batch)
                try emit(letter, for: record, in: batch, into: &sink)
            case .suppressed(let reason):
                skipNotifications(of: record, in: batch)
                suppress(record, in: batch, because: reason, into: &sink)
            case .notifications where isExpired(record, in: batch):
                skipNotifications(of: record, in: batch)
                suppress(record, in: batch, because: .expired, into: &sink)
            case .notifications(let count):
                if let reason = try emit(count, notificationsOf: record, in: batch, limit: limit, into: &sink) {
                    suppress(record, in: batch, because: reason.ofEvent, into: &sink)
                }
            }
            record += 1
            cursor.nextRecord = record
        }
        return record
    }

    static let recordsBetweenLooks = 512

    /// - Returns: why nobody was notified.
    mutating func emit<Sink: RecordSink & ~Copyable>(
        _ count: Int, notificationsOf record: Int, in batch: borrowing EventBatch, limit: Int, into sink: inout Sink
    ) throws -> NoRecipient? {
        let notifications = cursor.takeNotifications(count)
        if cursor.resolvedEnd < notifications.upperBound {
            let room = max(limit - written, 1)
            cursor.resolvedEnd = try fanOut.resolve(batch, from: notifications.lowerBound, limit: room)
            counts.rejectedDevices += fanOut.rejectedDevices
        }
        var prepared: Recipients
        switch prepare(notifications, in: batch) {
        case .success(let last): prepared = last
        case .failure(let letter):
            try emit(letter, for: record, in: batch, into: &sink)
            return nil
        }
        let event = batch.records[record]
        var devices = 0
        var stale = 0
        for index in notifications {
            let notification = batch.notifications[index]
            // A single notification is prepared already, which saves 0.8 µs per event.
            if count > 1 { prepared = begin(index, in: batch) }
            stale += prepared.stale
            devices += prepared.devices.count
            counts.count(notification)
            for position in prepared.devices {
                let device = fanOut.recipient(position)
                let push = renderer.render(device, audience: fanOut.audience(of: device))
                try sink.dispatch(push, for: notification, from: event)
            }
        }
        counts.count(notifications: count, dispatches: devices, of: batch.source)
        counts.staleDevices += stale
        if devices + stale > maxDevicesPerEvent / 2 { counts.nearDeviceLimit += 1 }
        return devices > 0 ? nil : stale > 0 ? .staleToken : .noSubscriber
    }
}
