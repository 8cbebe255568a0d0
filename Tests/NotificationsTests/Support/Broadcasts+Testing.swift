import NotificationPayload

@testable import Notifications

/// 2025-07-07T08:02:17Z, the timestamp of the records below.
let broadcastTime: WallTime = 1_751_875_337_000

/// Document 4's own payloads: the value of each enumeration is its first one.
enum Document4 {
    static let fields =
        #"[{"language":"en","title":"Welcome to Sunbird!","msg":"Congratulations on downloading Sunbird, every child's best friend in their learning journey."},{"language":"hi","title":"Welcome to Sunbird!","msg":"Congratulations on downloading Sunbird, every child's best friend in their learning journey."}]"#
    static let display =
        #"{"actiontype":"display","notificationtype":"general","notificationid":"1235","expiry":"34646millis","type":"cancellable","channel":"channel-id","poster":"https://example.com/poster.png","fields":\#(fields)}"#
    static let nonDisplay =
        #"{"actiontype":"non-display","notificationtype":"enable-feature","notificationid":"1235","expiry":"34646millis","data":"free form string data"}"#
}

/// The outcome of a record of notifications.broadcasts, as values.
struct TestBroadcast {
    var published: BroadcastNotification?
    var cancelled: String?
    var deadLetter: DeadLetter?
    var unknownTypes = 0
    /// Where they are collected.
    var findings: [RequestFinding] = []

    var display: Broadcast.Display? {
        guard case .display(let display) = published?.content else { return nil }
        return display
    }

    var nonDisplay: Broadcast.NonDisplay? {
        guard case .nonDisplay(let nonDisplay) = published?.content else { return nil }
        return nonDisplay
    }
}

func extractBroadcast(
    _ value: String?, key: String? = "1235", timestamp: WallTime? = broadcastTime, headers: [(String, String)] = [],
    findings: RequestFindings? = nil
) -> TestBroadcast {
    extractBroadcast(value.map { Array($0.utf8) }, key: key, timestamp: timestamp, headers: headers, findings: findings)
}

func extractBroadcast(
    _ value: [UInt8]?, key: String?, timestamp: WallTime?, headers: [(String, String)] = [],
    findings: RequestFindings? = nil
) -> TestBroadcast {
    var extractor = BroadcastExtractor(findings: findings)
    var owned: [OwnedBytes] = []
    func own(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let copy = OwnedBytes(bytes)
        owned.append(copy)
        return copy.bytes
    }
    let headers = headers.map { EventHeader(name: own(Array($0.0.utf8)), value: own(Array($0.1.utf8))) }
    let record = EventRecord(
        partition: 0, offset: 7, timestamp: timestamp,
        key: key.map { own(Array($0.utf8)) }, value: value.map(own))
    return withExtendedLifetime(owned) {
        var result = TestBroadcast()
        switch extractor.extract(record, headers: headers[...]) {
        case .published(let broadcast): result.published = broadcast
        case .cancelled(let id): result.cancelled = id
        case .deadLetter(let letter): result.deadLetter = letter
        }
        result.unknownTypes = extractor.notes.unknownTypes
        result.findings = findings?.all ?? []
        return result
    }
}

/// A display broadcast with a text and these members; each replaces the one before it of its name.
func display(_ members: String) -> TestBroadcast {
    let fields = #"[{"language":"en","title":"t","msg":"m"}]"#
    return extractBroadcast(
        #"{"actiontype":"display","notificationtype":"general","notificationid":"1235","expiry":"60000millis","fields":\#(fields),\#(members)}"#
    )
}

/// A non-display broadcast with these members; each replaces the one before it of its name.
func nonDisplay(_ members: String) -> TestBroadcast {
    extractBroadcast(
        #"{"actiontype":"non-display","notificationtype":"enable-feature","notificationid":"1235","expiry":"60000millis",\#(members)}"#
    )
}
