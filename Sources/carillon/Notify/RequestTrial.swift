import Pipeline

/// What the pipeline would make of a request now: the daemon's own core, without Kafka.
struct RequestTrial {
    var configuration: PipelineConfiguration
    var key: String
    var value: [UInt8]
    /// The record's timestamp and the transaction's clock.
    var now: WallTime

    /// Processes it into a sink.
    ///
    /// - Returns: the message id; nil if the request is a dead letter.
    @discardableResult
    func run<Sink: RecordSink & ~Copyable>(
        _ recipients: RecipientSource, into sink: inout Sink
    ) throws -> String? {
        var core = try Flow(configuration, recipients: recipients)
        try core.beginTransaction(clock: now, boundsTimes: true)
        var batch = EventBatch(.requests, topic: configuration.topics.requests)
        return try Array(key.utf8).withUnsafeBytes { key in
            try value.withUnsafeBytes { value in
                batch.records.append(EventRecord(partition: 0, offset: 0, timestamp: now, key: key, value: value))
                _ = core.extract(&batch, from: 0)
                _ = try core.emit(batch, 0..<1, limit: .max, into: &sink)
                return batch.notifications.first.map { batch.string($0.messageID) }
            }
        }
    }

    /// Checks it, and counts the devices that it would reach.
    ///
    /// - Throws: ``CommandFailure`` with the reason if it would be a dead letter, or has expired: exit code 64.
    func check(_ recipients: RecipientSource) throws -> RequestReach {
        var sink = CountingSink()
        let messageID = try run(recipients, into: &sink)
        if let letter = sink.letter {
            throw CommandFailure(
                .usage, "the request would be a dead letter, \(letter.code.label): \(letter.message)")
        }
        if sink.reason == .expired {
            throw CommandFailure(.usage, "the request has expired already: nobody would be notified")
        }
        return RequestReach(messageID: messageID ?? "", devices: sink.devices, isStale: sink.reason == .staleToken)
    }
}

/// Whom a request would reach.
struct RequestReach {
    var messageID: String
    /// How many devices, by provider; only those with a device.
    var devices: [Platform: Int]
    /// Whether there are devices, but all were last seen too long ago (docs/rules.md §5.3 row 20).
    var isStale: Bool

    var count: Int { devices.values.reduce(0, +) }

    /// `1,312 devices: 1,300 fcm, 12 apns`.
    var text: String {
        let parts = Platform.allCases.compactMap { platform in
            devices[platform].map { "\(ProgressLine.grouped($0)) \(platform.rawValue)" }
        }
        let number = count == 1 ? "1 device" : "\(ProgressLine.grouped(count)) devices"
        return parts.isEmpty ? number : "\(number): \(parts.joined(separator: ", "))"
    }
}

/// Finds one made-up device, so that a provider's message can be shown without anybody's token.
struct SampleDevice: TokenResolver {
    var platform: Platform

    func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) {
        devices.append(token: platform.madeUpToken, platform: platform, app: "com.example.app", to: 0)
    }
}

/// Finds no device: what is wrong with the request itself.
struct NoDevices: TokenResolver {
    func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) {}
}

private struct CountingSink: RecordSink, ~Copyable {
    var devices: [Platform: Int] = [:]
    var letter: DeadLetter?
    var reason: SuppressionReason?

    mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) throws {
        devices[try record.platform, default: 0] += 1
    }

    mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) { self.reason = reason }

    mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) {
        self.letter = letter
    }
}
