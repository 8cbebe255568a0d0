import NotificationPayload

@testable import Notifications

/// The outcome of a request, as values.
struct TestRequestResult {
    var request: TestRequest?
    var deadLetter: DeadLetter?
    var notes = RequestNotes()
    /// Where they are collected.
    var findings: [RequestFinding] = []

    var code: DeadLetter.Code? { deadLetter?.code }
    var sentence: String? { deadLetter?.message }
}

/// A normalised request, its texts as strings.
struct TestRequest: Equatable {
    var kind: RequestNotification.Content
    var messageID: String
    var eventTime: WallTime
    var audiences: [String]
    var id: String?
    var expiresAt: WallTime
    var fcmExpiresAt: WallTime
    var isSilent: Bool
    var priority: RequestNotification.Priority
    var collapseKey: String?
    /// By the names of the members of documents 2 and 5, each with its escaped text.
    var shown: [String: String]
    var badge: Int32?
    var data: String
    var custom: String
    var dataSize: Int
    var notificationSize: Int

    init?(_ notification: Notification, in batch: borrowing EventBatch) {
        guard case .request(let kind, let index) = notification.kind else { return nil }
        let request = batch.requests[index]
        self.kind = kind
        messageID = batch.string(notification.messageID)
        eventTime = notification.eventTime
        audiences = batch.audiences[request.audiences].map { batch.string($0) }
        id = request.id.map { batch.string($0) }
        expiresAt = request.expiresAt
        fcmExpiresAt = request.fcmExpiresAt
        isSilent = request.isSilent
        priority = request.priority
        collapseKey = request.collapseKey.map { batch.string($0) }
        shown = [:]
        for (name, text) in [
            ("title", request.title), ("body", request.body), ("image", request.image),
            ("clickAction", request.clickAction), ("sound", request.sound), ("icon", request.icon),
            ("category", request.category), ("titleLocKey", request.titleKey),
            ("titleLocArgs", request.titleArguments), ("bodyLocKey", request.bodyKey),
            ("bodyLocArgs", request.bodyArguments),
        ] {
            shown[name] = text.map { batch.string($0) }
        }
        badge = request.badge
        data = batch.string(request.data)
        custom = batch.string(request.custom)
        dataSize = request.dataSize
        notificationSize = request.notificationSize
    }

    /// The members of FCM's data but the last one.
    var members: String { String(data.dropLast(#""message_id":"""#.count + messageID.count)) }
    /// The members beside `aps` but the last one.
    var beside: String { String(custom.dropLast(#""message_id":"""#.count + messageID.count)) }
}

/// 2025-07-07T08:02:17Z.
let requestTime: WallTime = 1_751_875_337_000

/// A record of notifications.requests.
func requestRecord(_ value: String, headers: [(String, String)] = []) -> TestRecord {
    var record = TestRecord(value, key: "user/17", headers: headers)
    record.topic = "notifications.requests"
    record.partition = 3
    record.offset = 4711
    record.timestamp = requestTime
    return record
}

func extractRequest(
    _ value: String, rules: RequestRules = RequestRules(), findings: RequestFindings? = nil
) -> TestRequestResult {
    extractRequests([requestRecord(value)], rules: rules, findings: findings)[0]
}

/// A request to `user/17` with an id, a time and these members.
func request(_ members: String, rules: RequestRules = RequestRules()) -> TestRequestResult {
    extractRequest(
        #"{"request_id":"r","requested_at":1751875337000,"audience":"user/17",\#(members)}"#, rules: rules)
}

/// An app notification of the type Generic with these members of its data, and these beside it.
func app(_ data: String = "", _ members: String = "", rules: RequestRules = RequestRules()) -> TestRequestResult {
    typed("Generic", data, members, rules: rules)
}

func typed(
    _ type: String, _ data: String = "", _ members: String = "", rules: RequestRules = RequestRules()
) -> TestRequestResult {
    let data = data.isEmpty ? "" : "," + data
    let members = members.isEmpty ? "" : "," + members
    return request(
        #""app":{"title":"42","body":"The purpose of life","data":{"type":"\#(type)"\#(data)}\#(members)}"#,
        rules: rules)
}

/// A message with a title, a body and these members.
func message(
    _ members: String = "", beside: String = "", rules: RequestRules = RequestRules()
) -> TestRequestResult {
    let members = members.isEmpty ? "" : "," + members
    let beside = beside.isEmpty ? "" : "," + beside
    return request(#""message":{"title":"Bills","body":"Three new bills"\#(members)}\#(beside)"#, rules: rules)
}

/// Runs records through one extractor and one batch, in the given order.
func extractRequests(
    _ records: [TestRecord], rules: RequestRules = RequestRules(), findings: RequestFindings? = nil
) -> [TestRequestResult] {
    var extractor = RequestExtractor(rules: rules, findings: findings)
    var batch = EventBatch(.requests, topic: "")
    var owned: [OwnedBytes] = []
    func own(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let copy = OwnedBytes(bytes)
        owned.append(copy)
        return copy.bytes
    }
    for record in records {
        let first = batch.headers.count
        for header in record.headers {
            batch.headers.append(EventHeader(name: own(Array(header.name.utf8)), value: header.value.map(own)))
        }
        batch.records.append(
            EventRecord(
                partition: record.partition, offset: record.offset,
                timestamp: record.timestamp, key: record.key.map(own),
                value: record.value.map(own), headers: first..<batch.headers.count))
    }
    return withExtendedLifetime(owned) {
        records.indices.map { index in
            extractor.notes = RequestNotes()
            batch.topic = records[index].topic
            var result = TestRequestResult()
            let before = batch.counts
            switch extractor.extract(index, in: &batch) {
            case .notifications(let count):
                result.request = batch.notifications.last.flatMap { TestRequest($0, in: batch) }
                if count != 1 || batch.notifications.count != before[0] + 1 || batch.requests.count != before[1] + 1 {
                    result.deadLetter = DeadLetter(.recordRefused, "a request gave \(count) notifications")
                }
            case .suppressed(let reason):
                result.deadLetter = DeadLetter(.recordRefused, "suppressed: \(reason)")
            case .deadLetter(let deadLetter):
                result.deadLetter = deadLetter
                if batch.counts != before || extractor.notes != RequestNotes() {
                    result.deadLetter = DeadLetter(.recordRefused, "the batch was changed")
                }
            }
            result.notes = extractor.notes
            result.findings = findings?.all ?? []
            return result
        }
    }
}

extension EventBatch {
    fileprivate var counts: [Int] { [notifications.count, requests.count, audiences.count, text.count] }
}
