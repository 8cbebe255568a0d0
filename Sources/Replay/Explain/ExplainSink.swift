import NotificationPayload

/// Records what became of each event, request and timer.
package struct ExplainSink: ~Copyable, ReplaySink {
    /// A person does not read more. All devices of each are counted.
    private static let mostExplanations = 1_000
    private static let mostPushes = 20

    private let subject: Explanation.Subject
    private let index: DispatchIndex
    private let refusals: Refusals
    private let history: SubscriptionHistoryReader
    private let maxAge: Int64
    private let templates: AudienceTemplates
    private let members: MemberMapping
    private var reader: RecordReader
    private var explanations: [Explanation] = []
    private var current: Explanation?
    private var step: JournalStep?
    private var source = SourceKind.orders
    private var areTimers = false

    init(
        _ subject: Explanation.Subject, _ configuration: PipelineConfiguration, index: DispatchIndex,
        refusals: Refusals, history: SubscriptionHistoryReader
    ) {
        self.subject = subject
        self.index = index
        self.refusals = refusals
        self.history = history
        maxAge = configuration.subscriptionsMaxAge.wholeMilliseconds
        templates = configuration.rules.audiences
        members = configuration.rules.members
        reader = RecordReader(configuration)
    }

    package var seesEvents: Bool { true }

    package mutating func begin(_ step: JournalStep?, of source: SourceKind, areTimers: Bool) {
        close()
        self.source = source
        self.step = step
        self.areTimers = areTimers
        history.positions = step?.table ?? [Int64](repeating: .max, count: 10_000)
    }

    package mutating func see(_ event: EventRecord, in batch: borrowing EventBatch) {
        close()
        var explanation = Explanation(
            event: EventCoordinates(batch.partition(of: event), offset: event.offset), isTimer: false,
            time: event.timestamp, step: step)
        explanation.reading = reader.read(event, of: batch)
        explanation.order = explanation.reading.orders.first
        current = explanation
    }

    package mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) throws {
        openTimer(event, notification.type)
        // A copy: Swift 6.3 leaks a dictionary that is assigned through an optional of a noncopyable self.
        guard var explanation = current else { return }
        let device = String(decoding: record.key, as: UTF8.self)
        let messageID = record.text(.messageID) ?? ""
        if explanation.devices == 0 {
            let refusal = refusals.refusal(of: event, from: source, isTimer: explanation.isTimer)
            explanation.outcome = refusal.map { .refused($0) } ?? .sent
        }
        explanation.devices += 1
        explanation.sources = notification.fieldSources.map(RenderedRecord.texts) ?? [:]
        switch notification.kind {
        case .order(let order):
            let names = members.text(of: order.mappedNames)
            if !names.isEmpty { explanation.sources["mapped names"] = names }
        case .request: break
        }
        if explanation.isTimer, explanation.reading.places.isEmpty {
            explanation.reading.places = [PushPayload(value: Array(record.value))?["place_id"] ?? ""]
        }
        current = explanation
        let isAsked =
            switch subject {
            case .events: true
            case .message(let id): id == messageID
            case .device(let hash): hash == device
            }
        guard isAsked, current?.pushes.count ?? 0 < Self.mostPushes else { return }
        var push = Explanation.Push(messageID: messageID, device: device, positions: [])
        push.deepLink = record.deepLinkKeys
        if let identity = index.identity(of: record) {
            for entry in try index.entries(of: identity) {
                if let id = entry.replay {
                    push.redriven.append(Explanation.Redriven(id: id, position: entry.coordinates))
                } else {
                    push.positions.append(entry.coordinates)
                }
            }
        }
        current?.pushes.append(push)
    }

    package mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) {
        if areTimers { openTimer(event, nil) }
        current?.outcome = .deadLetter(letter)
        if !areTimers { current?.deadLetter = refusals.position(of: event, from: source) }
    }

    package mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) {
        current?.outcome = .notSent(reason)
    }

    package mutating func drop(_ timer: EventRecord, _ type: EventType, because drop: TimerDrop) {
        openTimer(timer, type.rawValue)
        current?.outcome = .dropped(drop)
    }

    package mutating func cancelTimers(_ event: EventRecord, timers: Int, because drop: TimerDrop) {
        current?.settled[drop, default: 0] += timers
    }

    /// Call it after the last record.
    consuming func finish() -> [Explanation] {
        close()
        return explanations
    }

    /// Begins a timer, unless it is that of the previous record.
    ///
    /// - Parameter type: nil for a dead letter, which does not name it.
    private mutating func openTimer(_ timer: EventRecord, _ type: String?) {
        // The outcome of an event comes after ``see(_:in:)``, which has opened it.
        if let current, !current.isTimer { return }
        let order = timer.key.map { String(decoding: $0, as: UTF8.self) }
        let types = type.map { [$0] } ?? []
        if let current, current.order == order, current.time == timer.timestamp, current.reading.types == types {
            return
        }
        close()
        var explanation = Explanation(
            event: EventCoordinates(SourcePartition(.orders, timer.partition), offset: timer.offset), isTimer: true,
            time: timer.timestamp, order: order, step: step)
        explanation.reading.orders = [order ?? ""]
        explanation.reading.types = types
        current = explanation
    }

    /// Emits the current explanation, if it is selected.
    private mutating func close() {
        guard var explanation = current else { return }
        current = nil
        guard explanations.count < Self.mostExplanations else { return }
        switch subject {
        case .events: break
        case .message: if explanation.pushes.isEmpty { return }
        case .device(let hash):
            explanation.subscribed = subscribed(explanation, hash)
            if explanation.pushes.isEmpty, explanation.subscribed == .never { return }
        }
        if !explanation.isTimer, !index.redriven.isEmpty {
            for entry in (try? index.entries(of: explanation.event)) ?? [] {
                if let id = entry.replay { explanation.redrives[id, default: 0] += 1 }
            }
        }
        explanations.append(explanation)
    }

    private func subscribed(_ explanation: Explanation, _ hash: String) -> Explanation.Subscribed {
        if !explanation.pushes.isEmpty { return .yes }
        var found = Explanation.Subscribed.never
        let reading = explanation.reading
        var audiences = reading.audiences
        if audiences.isEmpty {
            let type = reading.types.first.flatMap(templates.types.type(rawValue:)) ?? .known(.orderCreated)
            audiences = reading.places.flatMap { templates.audiences(of: type, atPlace: $0) }
        }
        for audience in Set(audiences) {
            guard let versions = try? history.versions(of: audience, tokenHash: hash), !versions.isEmpty else {
                continue
            }
            guard let then = versions.last(where: \.isBelowPositions) else {
                if let first = versions.first(where: \.isSubscribed) { found = .notUntil(first.time) }
                continue
            }
            guard then.isSubscribed else {
                found = .notSince(then.time)
                continue
            }
            if let seen = then.lastSeen, let time = explanation.time, time - seen > maxAge {
                return .stale(lastSeen: seen)
            }
            return .yes
        }
        return found
    }
}
