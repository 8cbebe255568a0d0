import JSONReader

/// What `carillon render` writes for records of `topic.broadcasts`: a dispatch record for each device that is subscribed
/// to the channel, or a dead letter (docs/rules.md §14).
///
/// Each record stands for itself: a later one that replaces or cancels it changes nothing of what was written.
struct BroadcastRender: ~Copyable {
    private var extractor: BroadcastExtractor
    private var renderer: BroadcastRenderer
    private var reader: TableReader
    private var devices = DeviceList()
    private var deadLetters = DeadLetterHeaders()
    /// For the key of a bare value.
    private var values = JSONReader()
    private var texts = TextArena()
    private let maxAge: Int64

    init(_ configuration: PipelineConfiguration, subscriptions: SubscriptionTable, findings: RequestFindings?) throws {
        var reader = try subscriptions.makeReader()
        try reader.begin()
        self.reader = reader
        extractor = BroadcastExtractor(findings: findings)
        renderer = BroadcastRenderer(settings: configuration.rendering)
        maxAge = configuration.subscriptionsMaxAge.wholeMilliseconds
    }

    /// A broadcast expires by the time of its own record, as with a sender that is never late.
    mutating func render<Sink: RenderSink & ~Copyable>(_ line: borrowing RecordLine, into sink: inout Sink) throws {
        var record = line.record
        // As a producer of broadcasts would give it.
        if line.isBare { record.key = notificationID(of: record.value) }
        switch extractor.extract(record, headers: line.headers[...]) {
        case .published(let broadcast):
            if let letter = renderer.begin(broadcast, from: record, of: line.topic, headers: line.headers) {
                try write(letter, record, line, into: &sink)
            } else if broadcast.expiresAt <= record.timestamp ?? .epoch {
                sink.suppress(record, because: .expired)
            } else {
                try write(broadcast, record, into: &sink)
            }
        case .cancelled:
            sink.cancel(record)
        case .deadLetter(let letter):
            try write(letter, record, line, into: &sink)
        }
    }

    private mutating func write<Sink: RenderSink & ~Copyable>(
        _ broadcast: BroadcastNotification, _ record: EventRecord, into sink: inout Sink
    ) throws {
        devices.removeAll(audiences: 1)
        var name = broadcast.audience
        try name.withUTF8 { name in
            let audience = UnsafeRawBufferPointer(name)
            try reader.addDevices(of: audience, as: 0, limit: Int.max - 1, to: &devices)
            var count = 0
            for device in devices.devices where !device.isStale(at: broadcast.publishedAt, maxAge: maxAge) {
                try sink.dispatch(renderer.render(device, audience: audience), from: record)
                count += 1
            }
            if count == 0 {
                sink.suppress(record, because: devices.count > 0 ? .staleToken : .noSubscriber)
            }
        }
    }

    private mutating func write<Sink: RenderSink & ~Copyable>(
        _ letter: DeadLetter, _ record: EventRecord, _ line: borrowing RecordLine, into sink: inout Sink
    ) throws {
        try deadLetters.withHeaders(of: letter, for: record, of: line.topic, own: line.headers[...]) { headers in
            try sink.deadLetter(letter, key: record.key, value: record.value, headers: headers, from: record)
        }
    }

    private mutating func notificationID(of value: UnsafeRawBufferPointer?) -> UnsafeRawBufferPointer? {
        guard let value, let document = try? values.parse(value) else { return nil }
        texts.truncate()
        return texts.text(document.member("notificationid"))
    }
}
