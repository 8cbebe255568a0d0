import Notifications
import Synchronization

/// What the pipeline would make of requests now: the daemon's own core, without Kafka. One owner.
package struct RequestTrial: ~Copyable {
    /// What would become of a request.
    package struct Verdict {
        package fileprivate(set) var messageID = ""
        package fileprivate(set) var audiences: [String] = []
        /// How many devices it would reach, by provider; only those with a device.
        package fileprivate(set) var devices: [Platform: Int] = [:]
        /// Everything that is wrong with it: the dead letter that it would be is the first.
        package fileprivate(set) var findings: [RequestFinding] = []
        /// Why nobody would be notified.
        package fileprivate(set) var suppression: SuppressionReason?
    }

    private var flow: Flow
    private var batch: EventBatch
    private let sample: SampleDevice
    private let findings = RequestFindings()

    /// - Parameter table: the devices that requests would reach; nil: one made-up device, of one provider after the other.
    package init(
        _ configuration: PipelineConfiguration, table: SubscriptionTable? = nil
    ) throws(SubscriptionTableError) {
        let sample = SampleDevice(app: configuration.requests.apps.first ?? "com.example.app")
        let recipients: RecipientSource = table.map { .table($0) } ?? .resolver(sample)
        flow = try Flow(configuration, recipients: recipients, findings: findings)
        self.sample = sample
        batch = EventBatch(.requests, topic: configuration.topics.requests)
    }

    /// Whether some provider would take the request: a push that is too large for one may be small enough for another.
    ///
    /// - Parameters:
    ///   - value: of the record.
    ///   - now: the record's time, and the clock of the transaction.
    package mutating func verdict(_ value: [UInt8], now: WallTime) throws -> Verdict {
        let first = try reach(value, now: now)
        guard first.findings.first?.letter.code == .payloadTooLarge else { return first }
        for platform in Platform.allCases {
            let other = try reach(value, platform, now: now)
            if other.findings.isEmpty { return other }
        }
        return first
    }

    /// How many devices of the table it would reach.
    package mutating func reach(_ value: [UInt8], _ platform: Platform = .fcm, now: WallTime) throws -> Verdict {
        var sink = VerdictSink()
        try run([], value, platform, now: now, into: &sink)
        // A request that is too large has been read without a finding.
        if !findings.all.isEmpty { sink.verdict.findings = findings.all }
        if sink.verdict.findings.isEmpty, let notification = batch.notifications.first {
            sink.verdict.messageID = batch.string(notification.messageID)
            sink.verdict.audiences = batch.audiences.map { batch.string($0) }
        }
        return sink.verdict
    }

    /// Processes a record into a sink.
    ///
    /// - Parameter platform: of the made-up device.
    package mutating func run<Sink: RecordSink & ~Copyable>(
        _ key: [UInt8], _ value: [UInt8], _ platform: Platform, now: WallTime, into sink: inout Sink
    ) throws {
        sample.use(platform)
        try flow.beginTransaction(clock: now, boundsTimes: true)
        defer { flow.endTransaction() }
        batch.removeAll()
        try key.withUnsafeBytes { key in
            try value.withUnsafeBytes { value in
                batch.records.append(EventRecord(partition: 0, offset: 0, timestamp: now, key: key, value: value))
                _ = flow.extract(&batch, from: 0)
                _ = try flow.emit(batch, 0..<1, limit: .max, into: &sink)
            }
        }
    }

    private struct VerdictSink: RecordSink, ~Copyable {
        var verdict = Verdict()

        mutating func dispatch(
            _ record: DispatchRecord, for notification: Notification, from event: EventRecord
        ) throws {
            verdict.devices[try record.platform, default: 0] += 1
        }

        mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) {
            verdict.suppression = reason
        }

        mutating func deadLetter(
            _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
            headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
        ) {
            verdict.findings = [RequestFinding(letter)]
        }
    }
}

/// Finds one device that nobody has, so that a provider's message can be made without anybody's token.
private final class SampleDevice: TokenResolver {
    private let app: String
    private let platform = Mutex(Platform.fcm)

    /// - Parameter app: one that requests may reach.
    init(app: String) { self.app = app }

    func use(_ platform: Platform) { self.platform.withLock { $0 = platform } }

    func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) {
        let platform = platform.withLock { $0 }
        if audiences.count > 0 { devices.append(token: platform.madeUpToken, platform: platform, app: app, to: 0) }
    }
}
