import JSONReader
import Pipeline
import Synchronization

/// Whether the pipeline would send a request now: the daemon's own core, without Kafka and without devices. One owner.
struct RequestCheck: ~Copyable {
    /// What the pipeline makes of a request that it accepts.
    struct Accepted {
        var messageID: String
        var audiences: [String]
    }

    private var flow: Flow
    private var batch: EventBatch
    private var reader = JSONReader()
    private let device: MadeUpDevice

    init(_ configuration: PipelineConfiguration) throws(SubscriptionTableError) {
        device = MadeUpDevice(app: configuration.requests.apps.first ?? "com.example.app")
        flow = try Flow(configuration, recipients: .resolver(device))
        batch = EventBatch(.requests, topic: configuration.topics.requests)
    }

    /// Reads the body of a request and checks what its record would be.
    ///
    /// - Parameters:
    ///   - name: see ``RequestBody/init(_:name:newID:_:)``.
    ///   - now: the record's time, and the clock of the transaction.
    mutating func read(
        _ bytes: [UInt8], name: String?, newID: () -> String, now: WallTime
    ) throws(Problem) -> (RequestBody, Accepted) {
        let body = try RequestBody(bytes, name: name, newID: newID, &reader)
        return (body, try check(body.value, now: now))
    }

    private mutating func check(_ value: [UInt8], now: WallTime) throws(Problem) -> Accepted {
        var letter: DeadLetter?
        for platform in Platform.allCases {
            device.use(platform)
            let found: Found
            do {
                found = try run(value, now)
            } catch {
                throw Problem(.defect, "the request could not be checked")
            }
            switch found.outcome {
            case .sent(let accepted): return accepted
            case .expired:
                throw Problem(.badRequest, "the request has expired already: nobody would be notified")
            case .refused(let reason):
                letter = reason
                // A push that one provider does not take may be small enough for another.
                if reason.code != .payloadTooLarge { throw Problem(reason) }
            }
        }
        throw letter.map(Problem.init) ?? Problem(.defect, "there is no provider")
    }

    private mutating func run(_ value: [UInt8], _ now: WallTime) throws -> Found {
        var sink = Found()
        try flow.beginTransaction(clock: now, boundsTimes: true)
        defer { flow.endTransaction() }
        batch.removeAll()
        try value.withUnsafeBytes { value in
            batch.records.append(
                EventRecord(
                    partition: 0, offset: 0, timestamp: now, key: UnsafeRawBufferPointer(start: nil, count: 0),
                    value: value))
            _ = flow.extract(&batch, from: 0)
            _ = try flow.emit(batch, 0..<1, limit: .max, into: &sink)
            if case .sent = sink.outcome, let notification = batch.notifications.first {
                sink.outcome = .sent(
                    Accepted(
                        messageID: batch.string(notification.messageID),
                        audiences: batch.audiences.map { batch.string($0) }))
            }
        }
        return sink
    }

    private struct Found: RecordSink, ~Copyable {
        enum Outcome {
            case sent(Accepted)
            case expired
            case refused(DeadLetter)
        }

        var outcome = Outcome.sent(Accepted(messageID: "", audiences: []))

        mutating func dispatch(_ record: DispatchRecord, for notification: Notification, from event: EventRecord) {}

        mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) {
            if reason == .expired { outcome = .expired }
        }

        mutating func deadLetter(
            _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
            headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
        ) {
            outcome = .refused(letter)
        }
    }
}

/// Finds one device that nobody has.
private final class MadeUpDevice: TokenResolver {
    private let app: String
    private let platform = Mutex(Platform.fcm)

    init(app: String) { self.app = app }

    func use(_ platform: Platform) { self.platform.withLock { $0 = platform } }

    func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) {
        let platform = platform.withLock { $0 }
        if audiences.count > 0 { devices.append(token: platform.madeUpToken, platform: platform, app: app, to: 0) }
    }
}
