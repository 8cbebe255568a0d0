import FuzzSupport
import Glibc

@testable import Notifications
@testable import Pipeline

/// Reads a line, runs its record through the pipeline's core, and reads back what `render` writes of it.
struct RenderCheck: ~Copyable {
    private let boundsTimes: Bool
    private var line = RecordLine()
    private var lineAgain = RecordLine()
    private var core: Flow
    private var batch = EventBatch(.orders, topic: "orders.events")
    private var writer: RecordLineWriter
    /// A file without a name.
    private let file: Int32
    private static let clock = RecordInput.noon
    private let topics = PipelineConfiguration.Topics()

    /// - Parameter boundsTimes: no record may count as more than an hour after the clock.
    init(boundsTimes: Bool) {
        self.boundsTimes = boundsTimes
        core = must {
            Flow(
                rules: try ExtractionRules(timeZone: "Europe/Berlin"), orders: OrderRules(), requests: RequestRules(),
                rendering: RenderSettings(),
                maxDevicesPerEvent: 1_000, maxBytesPerEvent: 1 << 24,
                fanOut: try FanOut(
                    audienceRule: OrderAudiences(), recipients: .resolver(TwoDevices()), maxAge: .seconds(86_400)))
        }
        file = fileno(tmpfile())
        writer = RecordLineWriter(descriptor: file, topics: PipelineConfiguration.Topics(), explains: false)
    }

    mutating func take(_ text: UnsafeRawBufferPointer) {
        line.read(text, bareTopic: "orders.events", bareOffset: 17)
        checkRoundTrip()
        line.fill(&batch)
        var sink = CheckingSink()
        // With empty state: inputs are independent.
        let isOrdinary = (0..<64).contains(line.partition)
        if isOrdinary { core.orders.assign(line.partition, watermark: TimerWatermark(.epoch), newest: .epoch) }
        must {
            try core.beginTransaction(clock: Self.clock, boundsTimes: boundsTimes)
            expect(core.extract(&batch, from: 0) == 1, "the record is extracted")
            expect(try core.emit(batch, 0..<1, limit: .max, into: &sink) == 1, "the record is emitted")
            core.endTransaction()
        }
        core.commit()
        let outcomes = [sink.dispatches > 0, sink.deadLetters > 0, sink.suppressions > 0].filter { $0 }.count
        expect(outcomes == 1, "dispatched, dead-lettered or suppressed, and one of them: \(sink)")
        expect(sink.deadLetters + sink.suppressions <= 1, "dead-lettered or suppressed once: \(sink)")
        expect(sink.dispatches % 2 == 0, "both devices or none: \(sink)")
        if isOrdinary { fire(line.partition, into: &sink) }
    }

    /// Sends the timers of the day behind the record, which forgets the order then.
    private mutating func fire(_ partition: Int32, into sink: inout CheckingSink) {
        let time = (line.timestamp ?? .epoch) + 86_400_000
        let tick = Tick(partition: partition, time: time, clock: time, offset: line.offset)
        must {
            try core.beginTransaction(clock: time, boundsTimes: boundsTimes)
            let watermark = try core.fire(tick, .upTo(nil), into: &sink)
            expect(watermark >= TimerWatermark(.epoch), "the watermark does not go back: \(watermark)")
            core.endTransaction()
        }
        core.commit()
        core.orders.revoke(partition)
    }

    /// A record that was read can be written, and is the same when read again.
    private mutating func checkRoundTrip() {
        must {
            try line.headers.withUnsafeBufferPointer { headers in
                try writer.deadLetter(
                    DeadLetter(.notAnEvent, ""), key: line.key, value: line.value, headers: headers,
                    from: EventRecord(partition: 0, offset: 0, timestamp: nil, key: nil, value: nil))
            }
            try writer.flush()
        }
        lseek(file, 0, SEEK_SET)
        must {
            var lines = LineReader(descriptor: file)
            guard let written = try lines.next() else { fail("nothing was written") }
            lineAgain.read(written, bareTopic: "", bareOffset: 0)
            compare()
            expect(try lines.next() == nil, "one record is one line")
        }
        ftruncate(file, 0)
        lseek(file, 0, SEEK_SET)
    }

    private func compare() {
        expect(lineAgain.topic == topics.deadLetters, "the topic is the one it was written for")
        expect(isSame(line.key, lineAgain.key), "the key is the same again")
        expect(isSame(line.value, lineAgain.value), "the value is the same again")
        expect(line.headers.count == lineAgain.headers.count, "there are as many headers again")
        for (header, again) in zip(line.headers, lineAgain.headers) {
            expect(isSame(header.name, again.name) && isSame(header.value, again.value), "a header is the same again")
        }
    }

    private func isSame(_ first: UnsafeRawBufferPointer?, _ second: UnsafeRawBufferPointer?) -> Bool {
        guard let first, let second else { return first == nil && second == nil }
        return first.elementsEqual(second)
    }
}
