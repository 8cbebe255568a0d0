/// The whole flow, with no broker in it: records and ticks in, records out.
///
///     orders.events ─► extract ─► resolve (who) ─► render (what) ─► dispatch
///                      │    ▲         ▲    └───────────┴──────────► dead letters
///               folded ▼    │ past    │
///                     orders' state ──┘ due timers ◄── tick
///
/// Deterministic: its output depends only on the records, the ticks, the rules and the snapshot of the subscriptions. It
/// reads no clock and does no I/O. Uncommitted work can be rolled back, and repeated with the same result. One owner; not
/// to be shared between threads.
package struct PipelineCore: ~Copyable {
    /// One value for each ``SourceKind``.
    package var orders: OrderSource
    private var requests: RequestSource
    private var fanOut: FanOut
    private var renderer: MessageRenderer
    private var deadLetters = DeadLetterHeaders()
    private let maxDevicesPerEvent: Int
    private let maxBytesPerEvent: Int
    /// Of the pushes of the event that is prepared.
    private var preparedBytes = 0
    var cursor = ExtractionCursor()
    /// The transaction's clock.
    package var clock = WallTime.epoch

    /// What has been emitted since ``beginTransaction()``.
    package internal(set) var counts = Counts()
    /// The first dead letter since then.
    package private(set) var firstDeadLetter: DeadLetterPlace?

    package init(
        rules: ExtractionRules, orders: OrderRules, requests: RequestRules, rendering: RenderSettings,
        maxDevicesPerEvent: Int, maxBytesPerEvent: Int, fanOut: consuming FanOut
    ) {
        self.orders = OrderSource(rules: rules, orders: orders)
        self.requests = RequestSource(rules: requests)
        self.fanOut = fanOut
        self.renderer = MessageRenderer(settings: rendering)
        self.maxDevicesPerEvent = maxDevicesPerEvent
        self.maxBytesPerEvent = maxBytesPerEvent
    }

    /// Takes a new snapshot of the subscriptions and counts from zero.
    ///
    /// - Parameters:
    ///   - clock: the transaction's: what has expired by then is not sent.
    ///   - boundsTimes: whether no record may count as more than an hour after it. Extract the records afterwards.
    package mutating func beginTransaction(clock: WallTime, boundsTimes: Bool) throws {
        counts = Counts()
        firstDeadLetter = nil
        self.clock = clock
        orders.latestTime = boundsTimes ? RecordTime.latest(at: clock) : .distantFuture
        cursor.forgetRecipients()
        try fanOut.beginTransaction()
    }

    /// Releases the snapshot, so that an idle worker does not keep old pages of the table alive.
    package mutating func endTransaction() {
        fanOut.endTransaction()
    }

    /// The irregularities of the events that were extracted since the last call.
    package mutating func takeNotes() -> (orders: ExtractionNotes, requests: RequestNotes) {
        (orders.takeNotes(), requests.takeNotes())
    }

    /// The next offset of each partition of the subscriptions topic in the snapshot.
    package var tableOffsets: [Int64]? { fanOut.tableOffsets }

    /// Commits what was emitted and fired.
    package mutating func commit() { orders.commit(keeping: cursor.notEmitted(of: .orders)) }

    /// Rolls back what was extracted and fired since the last commit: the records come again.
    package mutating func rollBack() {
        orders.rollBack()
        cursor.restart()
    }

    /// Rolls back the records that were extracted and not emitted, if one of them counts as a time that the clock of the
    /// committed transaction has bounded: in the next one it would count as another.
    ///
    /// - Returns: whether they have to be extracted again, in the next transaction.
    package mutating func takesBackBoundedTimes() -> Bool {
        guard orders.states.hasBoundedTimes else { return false }
        rollBack()
        return true
    }

    /// Extracts the records of a batch from `first` on, as many as the batch has room for, at least one.
    ///
    /// - Returns: the first record that was not extracted. Emit what was before the next call.
    package mutating func extract(_ batch: inout EventBatch, from first: Int) -> Int {
        batch.removeNotifications()
        cursor.restart(at: first, of: batch.source)
        orders.states.hasBoundedTimes = false
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

    /// Makes the records that stand for what could not be read dead letters for that reason.
    private mutating func replaceUnreadable(_ records: Range<Int>, in batch: borrowing EventBatch) {
        for (partition, offset, letter) in batch.unreadable {
            let index = records.first {
                batch.records[$0].partition == partition && batch.records[$0].offset == offset
            }
            if let index { deadLetter(record: index, letter) }
        }
    }

    /// Folds the records of a batch into the state of their orders and writes nothing: their output is committed already.
    ///
    /// Everything that was extracted before must have been emitted.
    /// - Parameter isOpen: a transaction of other partitions is open; the fold is committed, or rolled back, with it.
    package mutating func refold(_ batch: inout EventBatch, isOpen: Bool = false) {
        let notes = orders.extractor.notes
        var next = 0
        while next < batch.records.count { next = extract(&batch, from: next) }
        cursor.restart()
        orders.extractor.notes = notes
        if !isOpen { commit() }
    }

    /// Dead-letters a record of the extracted batch, whatever its outcome was.
    package mutating func deadLetter(record: Int, _ letter: DeadLetter) {
        cursor[record] = .deadLetter(letter)
    }

    package func isDeadLetter(record: Int) -> Bool {
        switch cursor[record] {
        case .deadLetter: true
        case .notifications, .suppressed: false
        }
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

    private static let recordsBetweenLooks = 512

    /// Whether a record with notifications has expired by the transaction's clock. An order's never does here: that is
    /// up to whoever delivers.
    private func isExpired(_ record: Int, in batch: borrowing EventBatch) -> Bool {
        switch batch.source {
        case .orders: return false
        case .requests:
            // A request gives one notification.
            switch batch.notifications[cursor.nextNotification].kind {
            case .order: return false
            case .request(_, let index): return batch.requests[index].expiresAt <= clock
            }
        }
    }

    /// How many records the open transaction has so far.
    package var written: Int { counts.dispatches + counts.deadLetters }

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

    /// Checks that an event can be sent, before its first record is written.
    ///
    /// - Returns: the recipients of the last notification, for which the renderer is ready; or why it cannot be sent.
    private mutating func prepare(
        _ notifications: Range<Int>, in batch: borrowing EventBatch
    ) -> Result<Recipients, DeadLetter> {
        var recipients = Recipients.none
        var devices = 0
        preparedBytes = 0
        for index in notifications {
            recipients = fanOut.recipients(of: index, in: batch)
            devices += recipients.devices.count
            if devices > maxDevicesPerEvent || recipients.isTruncated {
                return .failure(.tooManyDevices(limit: maxDevicesPerEvent))
            }
            if let letter = begin(index, in: batch, for: recipients) { return .failure(letter) }
            if preparedBytes > maxBytesPerEvent { return .failure(.tooManyBytes(limit: maxBytesPerEvent)) }
        }
        return .success(recipients)
    }

    /// Prepares the renderer for a notification; returns why it cannot be sent.
    private mutating func begin(
        _ index: Int, in batch: borrowing EventBatch, for recipients: Recipients
    ) -> DeadLetter? {
        guard !recipients.devices.isEmpty else { return nil }
        if let letter = renderer.begin(batch.notifications[index], in: batch, platforms: recipients.platforms) {
            return letter
        }
        let isShown = renderer.isShown
        for position in recipients.devices {
            let device = fanOut.recipient(position)
            let audience = fanOut.audience(of: device)
            if isShown, let letter = renderer.prepare(device, audience: audience) { return letter }
            preparedBytes += renderer.size(of: device, audience: audience)
        }
        return nil
    }

    /// Returns the recipients of a notification that can be sent, and prepares the renderer for them.
    private mutating func begin(_ index: Int, in batch: borrowing EventBatch) -> Recipients {
        let recipients = fanOut.recipients(of: index, in: batch)
        if !recipients.devices.isEmpty {
            _ = renderer.begin(batch.notifications[index], in: batch, platforms: recipients.platforms)
        }
        return recipients
    }

    mutating func emit<Sink: RecordSink & ~Copyable>(
        _ letter: DeadLetter, for record: Int, in batch: borrowing EventBatch, into sink: inout Sink
    ) throws {
        counts.countDeadLetter(letter.code, of: batch.source)
        let event = batch.records[record]
        if firstDeadLetter == nil {
            firstDeadLetter = DeadLetterPlace(
                letter.code, topic: batch.topic, partition: event.partition, offset: event.offset)
        }
        try deadLetters.withHeaders(of: letter, for: event, in: batch) { headers in
            try sink.deadLetter(letter, key: event.key, value: event.value, headers: headers, from: event)
        }
    }

    private mutating func suppress<Sink: RecordSink & ~Copyable>(
        _ record: Int, in batch: borrowing EventBatch, because reason: SuppressionReason, into sink: inout Sink
    ) {
        counts.countSuppressed(reason, of: batch.source)
        sink.suppress(batch.records[record], because: reason)
    }

    private mutating func cancel<Sink: RecordSink & ~Copyable>(
        _ timers: CancelledTimers, _ event: EventRecord, into sink: inout Sink
    ) {
        guard timers != CancelledTimers() else { return }
        counts.count(timers)
        if timers.alreadyStarted > 0 {
            sink.cancelTimers(event, timers: timers.alreadyStarted, because: .alreadyStarted)
        }
        if timers.ended > 0 { sink.cancelTimers(event, timers: timers.ended, because: .ended) }
        if timers.forgotten > 0 { sink.cancelTimers(event, timers: timers.forgotten, because: .forgotten) }
        if timers.noSlot > 0 { sink.cancelTimers(event, timers: timers.noSlot, because: .noSlot) }
    }

    mutating func skipNotifications(of record: Int, in batch: borrowing EventBatch) {
        while cursor.nextNotification < batch.notifications.count,
            batch.notifications[cursor.nextNotification].record == record
        {
            cursor.nextNotification += 1
        }
    }
}

/// Why a notification that can be sent reaches nobody.
enum NoRecipient {
    case noSubscriber, staleToken

    var ofEvent: SuppressionReason {
        switch self {
        case .noSubscriber: .noSubscriber
        case .staleToken: .staleToken
        }
    }

    var ofTimer: TimerDrop {
        switch self {
        case .noSubscriber: .noSubscriber
        case .staleToken: .staleToken
        }
    }
}
