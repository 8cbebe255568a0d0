import NotificationPayload

@testable import Notifications

/// 2025-07-07T08:02:17Z, the time of the examples of docs/rules.md §9.2 and §10.1.
let requested: WallTime = 1_751_875_337_000

/// A request as it is after all checks: what is absent is nil, and data has no null.
struct SampleRequest: Sendable {
    var content = RequestNotification.Content.message
    var id: String?
    var messageID = "msg-1751875337000-sgei4bhk4"
    var eventTime = requested
    var expiresAt = requested + 86_400_000
    /// As ``expiresAt`` if it is nil.
    var fcmExpiresAt: WallTime?
    var isSilent = false
    /// By what is shown if it is nil.
    var priority: RequestNotification.Priority?
    var collapseKey: String?
    var title: String?
    var body: String?
    var image: String?
    var clickAction: String?
    var sound: String?
    var icon: String?
    var category: String?
    var badge: Int32?
    var titleKey: String?
    var titleArguments: [String] = []
    var bodyKey: String?
    var bodyArguments: [String] = []
    /// Without `message_id` and the image.
    var custom: [(key: String, value: PushValue)] = []
}

extension EventBatch {
    /// Adds the notification of a new record, with its texts as the extraction writes them.
    mutating func add(_ sample: SampleRequest) {
        records.append(
            EventRecord(
                partition: 3, offset: 4_711 + Int64(records.count), timestamp: nil, key: nil, value: nil))
        let members = sample.custom + [("message_id", .string(sample.messageID))]
        let custom = sample.custom + (sample.image.map { [("imageUrl", .string($0))] } ?? []) + members.suffix(1)
        var request = RequestNotification(
            audiences: audiences.count..<audiences.count + 1, expiresAt: sample.expiresAt,
            fcmExpiresAt: sample.fcmExpiresAt ?? sample.expiresAt,
            data: text(members.map { ($0.key, .string($0.value.text ?? "")) }), custom: text(custom))
        audiences.append(append("place/7"))
        request.id = sample.id.map { append($0) }
        request.isSilent = sample.isSilent
        request.priority = sample.priority ?? (sample.isSilent ? .normal : .high)
        request.collapseKey = inside(sample.collapseKey)
        request.title = inside(sample.title)
        request.body = inside(sample.body)
        request.image = inside(sample.image)
        request.clickAction = inside(sample.clickAction)
        request.sound = inside(sample.sound)
        request.icon = inside(sample.icon)
        request.category = inside(sample.category)
        request.badge = sample.badge
        request.titleKey = inside(sample.titleKey)
        request.titleArguments = list(sample.titleArguments)
        request.bodyKey = inside(sample.bodyKey)
        request.bodyArguments = list(sample.bodyArguments)
        request.dataSize = members.reduce(0) { $0 + $1.key.utf8.count + ($1.value.text ?? "").utf8.count }
        for (name, shown) in [("title", sample.title), ("body", sample.body), ("image", sample.image)] {
            request.notificationSize += shown.map { name.utf8.count + $0.utf8.count } ?? 0
        }
        requests.append(request)
        notifications.append(
            Notification(
                record: records.count - 1, eventTime: sample.eventTime,
                messageID: append(sample.messageID), payload: .empty, payloadSize: 0,
                kind: .request(sample.content, index: requests.count - 1)))
    }

    private mutating func append(_ string: String) -> TextRange {
        let start = text.count
        text.append(string)
        return TextRange(start: start, count: text.count - start)
    }

    /// The inside of a JSON string.
    private mutating func inside(_ string: String?) -> TextRange? {
        guard let string else { return nil }
        let start = text.count
        text.appendEscaped(string)
        return TextRange(start: start, count: text.count - start)
    }

    private mutating func list(_ strings: [String]) -> TextRange? {
        strings.isEmpty ? nil : append(PushValue.array(strings.map(PushValue.string)).json)
    }

    /// The members of an object in their order, without its braces.
    private mutating func text(_ members: [(key: String, value: PushValue)]) -> TextRange {
        append(members.map { "\(PushValue.string($0.key).json):\($0.value.json)" }.joined(separator: ","))
    }
}
