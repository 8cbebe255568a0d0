import NotificationPayload

/// One event: whether it can be sent, and what is written instead where it cannot.
extension Flow {
    /// Makes the records that stand for what could not be read dead letters for that reason.
    mutating func replaceUnreadable(_ records: Range<Int>, in batch: borrowing EventBatch) {
        for (partition, offset, letter) in batch.unreadable {
            let index = records.first {
                batch.records[$0].partition == partition && batch.records[$0].offset == offset
            }
            if let index { deadLetter(record: index, letter) }
        }
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

    /// Whether a record with notifications has expired by the transaction's clock. An order's never does here: that is
    /// up to whoever delivers.
    func isExpired(_ record: Int, in batch: borrowing EventBatch) -> Bool {
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

    /// Checks that an event can be sent, before its first record is written.
    ///
    /// - Returns: the recipients of the last notification, for which the renderer is ready; or why it cannot be sent.
    mutating func prepare(
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
    mutating func begin(
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
    mutating func begin(_ index: Int, in batch: borrowing EventBatch) -> Recipients {
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
            firstDeadLetter = DeadLetterPosition(
                letter.code, topic: batch.topic, partition: event.partition, offset: event.offset)
        }
        try deadLetters.withHeaders(of: letter, for: event, in: batch) { headers in
            try sink.deadLetter(letter, key: event.key, value: event.value, headers: headers, from: event)
        }
    }

    mutating func suppress<Sink: RecordSink & ~Copyable>(
        _ record: Int, in batch: borrowing EventBatch, because reason: SuppressionReason, into sink: inout Sink
    ) {
        counts.countSuppressed(reason, of: batch.source)
        sink.suppress(batch.records[record], because: reason)
    }

    mutating func cancel<Sink: RecordSink & ~Copyable>(
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
