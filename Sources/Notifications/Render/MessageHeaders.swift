import NotificationPayload

/// The headers of a notification's records (docs/code.md §4). The names are written once, the values once per
/// notification; up to four of the values are replaced for each device.
struct MessageHeaders: ~Copyable {
    private var text = ByteWriter(capacity: 1_024)
    private let headers = UnsafeMutableBufferPointer<EventHeader>.allocate(capacity: DispatchHeader.allCases.count)
    /// The digits of a device's command.
    private var digits = ByteWriter(capacity: 20)
    /// The headers of every record, and those that the settings turn on.
    private let fixedCount: Int
    private var count = 0
    /// The bytes of the names, and of the values that are the same for all devices.
    private var sharedSize = 0
    private let eventTypeIndex: Int?
    private let appIndex: Int?
    private let orderIDIndex: Int?

    init(_ optional: Set<RenderSettings.OptionalHeader>) {
        headers.initialize(repeating: EventHeader(name: UnsafeRawBufferPointer(start: nil, count: 0), value: nil))
        let requested = optional.map(\.header)
        let fixed = DispatchHeader.allCases.filter { header in
            switch header {
            case .messageID, .platform, .source, .expiresAt, .audience: true
            case .eventType, .app, .orderID: requested.contains(header)
            // The notification's own headers, and that of a replay.
            case .requestID, .degraded, .traceparent, .command, .replay: false
            }
        }
        eventTypeIndex = fixed.firstIndex(of: .eventType)
        appIndex = fixed.firstIndex(of: .app)
        orderIDIndex = fixed.firstIndex(of: .orderID)
        fixedCount = fixed.count
        for (index, header) in fixed.enumerated() { headers[index].name = header.bytes }
    }

    deinit {
        headers.deinitialize()
        headers.deallocate()
    }

    /// Prepares an order's notification.
    ///
    /// - Parameter expiresAt: in milliseconds, as decimal digits.
    mutating func begin(
        _ notification: Notification, _ order: Notification.Order, _ batch: borrowing EventBatch,
        _ expiresAt: UnsafeRawBufferPointer
    ) {
        beginShared(
            batch.bytes(notification.messageID), batch.records[notification.record], of: batch.topic, expiresAt,
            reserving: order.orderID.count
        ) { $0.append(order.eventType) }
        count = fixedCount
        if let orderIDIndex {
            // A request's own header may be in its place.
            headers[orderIDIndex].name = DispatchHeader.orderID.bytes
            copy(batch.bytes(order.orderID), to: orderIDIndex)
        }
        if order.isDegraded {
            let field = DispatchRecord.MissingField.orderID
            add(EventHeader(name: DispatchHeader.degraded.bytes, value: UnsafeRawBufferPointer(field.name)))
        }
        finish(traceparent: batch.records[notification.record].traceparent)
    }

    /// Prepares a request's notification: the same with the request's id in place of the order's, which is the last of
    /// the fixed headers.
    mutating func begin(
        _ notification: Notification, _ content: RequestNotification.Content, id: TextRange?,
        _ batch: borrowing EventBatch, _ expiresAt: UnsafeRawBufferPointer
    ) {
        beginShared(
            batch.bytes(notification.messageID), batch.records[notification.record], of: batch.topic, expiresAt,
            reserving: id?.count ?? 0
        ) { $0.append(content.rawValue) }
        count = orderIDIndex ?? fixedCount
        if let id {
            add(EventHeader(name: DispatchHeader.requestID.bytes, value: nil))
            copy(batch.bytes(id), to: count - 1)
        }
        finish(traceparent: batch.records[notification.record].traceparent)
    }

    /// Prepares a broadcast: the same headers as those of a request without an id.
    ///
    /// - Parameter own: the headers of its record.
    mutating func begin(
        _ broadcast: BroadcastNotification, _ record: EventRecord, of topic: String, own: [EventHeader]
    ) {
        var messageID = broadcast.messageID
        var expiresAt = String(broadcast.expiresAt.milliseconds)
        messageID.withUTF8 { messageID in
            expiresAt.withUTF8 { expiresAt in
                beginShared(
                    UnsafeRawBufferPointer(messageID), record, of: topic, UnsafeRawBufferPointer(expiresAt),
                    reserving: 0
                ) { $0.append("broadcast" as StaticString) }
            }
        }
        count = orderIDIndex ?? fixedCount
        finish(traceparent: Traceparent.first(of: own))
    }

    private mutating func beginShared(
        _ messageID: UnsafeRawBufferPointer, _ record: EventRecord, of topic: String,
        _ expiresAt: UnsafeRawBufferPointer, reserving more: Int, type writeType: (inout ByteWriter) -> Void
    ) {
        text.removeAll()
        // Reserves room for everything at once, so that no address changes while the headers are written: the three
        // texts, two separators, and three numbers of at most 20 digits.
        text.reserve(messageID.count + more + topic.utf8.count + 128)

        copy(messageID, to: DispatchHeader.messageID.rawValue)
        var start = text.count
        DispatchRecord.Source.append(topic: topic, partition: record.partition, offset: record.offset, to: &text)
        headers[DispatchHeader.source.rawValue].value = written(from: start)
        start = text.count
        text.append(expiresAt)
        headers[DispatchHeader.expiresAt.rawValue].value = written(from: start)
        if let eventTypeIndex {
            start = text.count
            writeType(&text)
            headers[eventTypeIndex].value = written(from: start)
        }
    }

    private mutating func finish(traceparent: UnsafeRawBufferPointer?) {
        if let traceparent { add(EventHeader(name: DispatchHeader.traceparent.bytes, value: traceparent)) }
        sharedSize = 0
        for index in 0..<count {
            sharedSize += headers[index].name.count
            if index == DispatchHeader.platform.rawValue || index == DispatchHeader.audience.rawValue
                || index == appIndex
            {
                continue
            }
            sharedSize += headers[index].value?.count ?? 0
        }
    }

    /// The bytes of the names and values for one device.
    mutating func size(for device: Device, audience: UnsafeRawBufferPointer) -> Int {
        let command = device.command.map { DispatchHeader.command.bytes.count + write($0).count }
        return sharedSize + device.platform.headerValue.count + audience.count
            + (appIndex == nil ? 0 : device.app.count) + (command ?? 0)
    }

    /// The headers for one device.
    mutating func list(
        for device: Device, audience: UnsafeRawBufferPointer
    ) -> UnsafeBufferPointer<EventHeader> {
        headers[DispatchHeader.platform.rawValue].value = device.platform.headerValue
        headers[DispatchHeader.audience.rawValue].value = audience
        if let appIndex {
            headers[appIndex].value = device.app
        }
        guard let command = device.command else { return UnsafeBufferPointer(rebasing: headers[..<count]) }
        headers[count] = EventHeader(name: DispatchHeader.command.bytes, value: write(command))
        return UnsafeBufferPointer(rebasing: headers[...count])
    }

    /// Valid until the next one.
    private mutating func write(_ number: Int64) -> UnsafeRawBufferPointer {
        digits.removeAll()
        digits.append(decimal: number)
        return digits.bytes
    }

    private mutating func copy(_ bytes: UnsafeRawBufferPointer, to index: Int) {
        let start = text.count
        text.append(bytes)
        headers[index].value = written(from: start)
    }

    private mutating func add(_ header: EventHeader) {
        headers[count] = header
        count += 1
    }

    private func written(from start: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text.bytes[start...])
    }
}
