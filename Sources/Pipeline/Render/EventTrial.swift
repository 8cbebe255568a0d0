import NotificationPayload
import Notifications

/// What the pipeline would make of a file of records, counted.
///
/// Each audience has one made-up device, so that no subscriptions are needed, and what is too large for a push is noticed.
package struct EventTrial: Sendable {
    /// Records that would be dead letters for the same reason.
    package struct DeadLetters: Sendable {
        package fileprivate(set) var count = 0
        /// The number of the line of the first one, from 1, and its sentence.
        package let line: Int64
        package let sentence: String
    }

    package fileprivate(set) var records = 0
    /// Notifications by their type, such as `event_order_created`, and their audiences by kind, such as `user`.
    package fileprivate(set) var notifications: [String: Int] = [:]
    package fileprivate(set) var audiences: [String: Int] = [:]
    package fileprivate(set) var deadLetters: [DeadLetter.Code: DeadLetters] = [:]
    package fileprivate(set) var suppressed: [SuppressionReason: Int] = [:]
    /// Audiences that were left out, by their template (docs/rules.md §5.4).
    package private(set) var missingAudiences: [String: Int] = [:]
    package private(set) var survey = SurveyedEvents()

    fileprivate init() {}

    /// Tries the records of a file; `-` is standard input. Its forms are those of ``RenderRun``.
    package init(_ path: String, _ configuration: PipelineConfiguration) throws {
        var run = try RenderRun(
            configuration, subscriptions: .inMemory(), resolver: OneDeviceEach(configuration.requests.apps.first),
            until: nil)
        var sink = TrialSink(configuration)
        try run.render(path: path, into: &sink)
        self = sink.trial
        survey = sink.survey.found
        let missing = run.takeNotes().missingAudiences
        for (position, template) in configuration.rules.audiences.counted.enumerated() where missing[position] > 0 {
            missingAudiences[template] = missing[position]
        }
    }
}

/// Finds one made-up device of each audience.
private struct OneDeviceEach: TokenResolver {
    /// One that requests may reach.
    private let app: String

    init(_ app: String?) { self.app = app ?? "com.example.app" }

    func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) {
        for audience in 0..<audiences.count {
            devices.append(token: "made-up-token-\(audience)", platform: .fcm, app: app, to: audience)
        }
    }
}

private struct TrialSink: ~Copyable, RenderSink {
    var trial = EventTrial()
    var survey: EventSurvey
    private let topics: PipelineConfiguration.Topics
    private var line: Int64 = 0
    /// The line of the notification whose pushes are being written, and its index in the batch.
    private var last: (line: Int64, payload: TextRange)?

    init(_ configuration: PipelineConfiguration) {
        survey = EventSurvey(configuration.rules)
        topics = configuration.topics
    }

    mutating func begin(_ line: borrowing RecordLine, number: Int64) {
        trial.records += 1
        self.line = number
        switch topics.source(of: line.topic) {
        case .requests: break
        case .orders, nil: if line.topic != topics.broadcasts { survey.add(line.value, headers: line.headers[...]) }
        }
    }

    mutating func beginTimers() {}

    mutating func dispatch(_ record: DispatchRecord, for notification: Notification, from event: EventRecord) {
        if last?.line != line || last?.payload != notification.payload {
            last = (line, notification.payload)
            trial.notifications[notification.type, default: 0] += 1
        }
        if let kind = record.audience.flatMap(Audience.init(of:)) { trial.audiences[kind.name, default: 0] += 1 }
    }

    /// Nobody is subscribed to a broadcast's channel here.
    mutating func dispatch(_ record: DispatchRecord, from event: EventRecord) {}

    mutating func cancel(_ event: EventRecord) {}

    mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) {
        trial.suppressed[reason, default: 0] += 1
    }

    mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) {
        let first = EventTrial.DeadLetters(line: line, sentence: letter.message)
        trial.deadLetters[letter.code, default: first].count += 1
    }

    mutating func flush() {}
}
