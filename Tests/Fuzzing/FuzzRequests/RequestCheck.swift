import FuzzSupport

@testable import Notifications
@testable import Pipeline

/// Runs a request through the pipeline's core twice, in buffers that earlier requests have used, and checks the results.
struct RequestCheck: ~Copyable {
    private static let now = RecordInput.noon

    private var core: Flow
    private var batch = EventBatch(.requests, topic: "notifications.requests")

    /// - Parameter changesSettings: every setting of requests is another one than the default.
    init(changesSettings: Bool) {
        var requests = RequestRules()
        var rendering = RenderSettings()
        if changesSettings {
            requests = RequestRules(
                timeToLive: .seconds(40 * 86_400), unknownTypes: .deadLetter, ignoresValidUntil: true,
                appTypes: AppTypes(added: [.init("Parcel", ["view": "parcel"], expected: ["parcel_id"])]))
            rendering.sendsNotificationCount = true
        }
        core = must {
            Flow(
                rules: try ExtractionRules(timeZone: "UTC"), orders: OrderRules(), requests: requests,
                rendering: rendering, maxDevicesPerEvent: 10_000, maxBytesPerEvent: 1 << 24,
                fanOut: try FanOut(
                    audienceRule: OrderAudiences(), recipients: .resolver(TwoDevices()), maxAge: .seconds(86_400)))
        }
    }

    mutating func take(_ input: RecordInput) {
        let first = run(input)
        let second = run(input)
        expect(first == second, "the same request gives the same: \(first.texts) and \(second.texts)")
    }

    private mutating func run(_ input: RecordInput) -> RequestSink {
        batch.removeAll()
        batch.append(input)
        var sink = RequestSink()
        must {
            try core.beginTransaction(clock: Self.now, boundsTimes: true)
            expect(core.extract(&batch, from: 0) == 1, "the record is extracted")
            expect(try core.emit(batch, 0..<1, limit: .max, into: &sink) == 1, "the record is emitted")
            core.endTransaction()
        }
        core.commit()
        expect(sink.dispatches == 2 || sink.dispatches == 0, "both devices or none: \(sink.dispatches)")
        let outcomes = [sink.dispatches > 0, sink.deadLetters > 0, sink.suppressions > 0].filter { $0 }.count
        expect(outcomes == 1, "dispatched, dead-lettered or suppressed, and one of them: \(sink)")
        expect(sink.deadLetters + sink.suppressions <= 1, "dead-lettered or suppressed once: \(sink)")
        check(sink)
        return sink
    }

    private func check(_ sink: RequestSink) {
        guard !batch.notifications.isEmpty else {
            expect(batch.text.count == 0 && batch.requests.isEmpty, "who notifies nobody leaves nothing")
            return
        }
        expect(batch.notifications.count == 1 && batch.requests.count == 1, "a request is one notification")
        expect(!batch.requests[0].audiences.isEmpty, "a request has an audience")
        guard sink.dispatches > 0 else { return }
        let id = batch.string(batch.notifications[0].messageID)
        expect(sink.messageIDs == [id, id], "both devices get the request's message id: \(sink.messageIDs)")
        expect(batch.requests[0].expiresAt > Self.now, "what has expired is not sent")
    }
}
