import FuzzSupport
import JSONReader
import NotificationPayload

@testable import Notifications
@testable import Pipeline

/// Keeps what the core writes of a request, and checks each record of it.
struct RequestSink: RecordSink, Equatable {
    private static let limit = 4_096

    private(set) var dispatches = 0
    private(set) var deadLetters = 0
    private(set) var suppressions = 0
    private(set) var messageIDs: [String] = []
    /// Values of messages, and sentences of dead letters.
    private(set) var texts: [String] = []

    mutating func dispatch(
        _ record: DispatchRecord, for notification: Notifications.Notification, from event: EventRecord
    ) {
        dispatches += 1
        expect(record.key.count == 64, "the key is a SHA-256 in hex")
        texts.append(String(decoding: record.value, as: UTF8.self))
        messageIDs.append(record.text(.messageID) ?? "")
        var reader = JSONReader()
        must {
            let document = try reader.parse(record.value)
            checkMembers(document)
            if let message = document.member("message") {
                expect(message.member("token")?.string?.bytes.isText(TwoDevices.androidToken) == true, "the token")
                checkFCM(message)
                checkReading(message, of: notification)
            } else {
                expect(
                    document.member("device_token")?.string?.bytes.isText(TwoDevices.appleToken) == true, "the token")
                guard let payload = document.member("payload") else { fail("the record has no payload") }
                checkAPNs(payload, in: record.value)
                checkReading(payload, of: notification)
            }
        }
    }

    mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) {
        deadLetters += 1
        texts.append("\(letter.code.label): \(letter.message)")
        expect(letter.code != .recordRefused, "nothing is refused here")
        expect(!letter.message.isEmpty, "a dead letter says why")
        expect(value?.isSame(as: event.value) == true, "the value is kept")
        expect(headers.count >= event.headers.count, "the headers are kept")
    }

    mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) {
        suppressions += 1
        expect(reason == .expired, "everybody has two devices: only what has expired is not sent: \(reason.label)")
    }

    // MARK: Messages

    /// The objects that are written here; what is inside data and extras is sent as it came.
    private static let objects: [[StaticString]] = [
        [], ["message"], ["message", "notification"], ["message", "data"], ["message", "android"],
        ["message", "android", "notification"], ["message", "apns"], ["message", "apns", "headers"],
        ["message", "apns", "payload"], ["message", "apns", "payload", "aps"], ["headers"], ["payload"],
        ["payload", "aps"], ["payload", "aps", "alert"],
    ]

    /// No object has a member twice: receivers differ in which one counts.
    private func checkMembers(_ document: JSONValue) {
        for path in Self.objects {
            guard let object = path.reduce(document as JSONValue?, { $0?.member($1) }) else { continue }
            var names: Set<[UInt8]> = []
            var members = object.members
            while let (name, _) = members.next() {
                expect(names.insert(Array(name.bytes)).inserted, "a member is there once: \(Array(name.bytes))")
            }
        }
    }

    /// docs/rules.md §1.2, §1.3.
    private func checkFCM(_ message: JSONValue) {
        var size = 0
        guard var data = message.member("data")?.members else { fail("the message has no data") }
        var hasID = false
        while let (name, value) = data.next() {
            guard let text = value.string else { fail("a value of data is no string") }
            size += name.bytes.count + text.bytes.count
            if name.bytes.isText("message_id") { hasID = true }
            let isReserved =
                ["from", "message_type", "notification"].contains { name.bytes.isText($0) }
                || ["google", "gcm"].contains { name.bytes.starts(with: $0.utf8) }
            expect(!isReserved, "FCM reserves no name of data")
        }
        expect(hasID, "the message has its id")
        for member in ["title", "body", "image"] as [StaticString] {
            guard let text = message.member("notification")?.member(member)?.string else { continue }
            size += member.utf8CodeUnitCount + text.bytes.count
        }
        expect(size <= Self.limit, "FCM takes a message of \(size) bytes")
        let ttl = message.member("android")?.member("ttl")?.string.map { String(decoding: $0.bytes, as: UTF8.self) }
        guard let ttl, ttl.hasSuffix("s"), let seconds = Int(ttl.dropLast()) else { fail("android.ttl is no number") }
        expect((0...2_419_200).contains(seconds), "FCM takes this android.ttl: \(seconds)")
    }

    /// docs/rules.md §2.3.
    private func checkAPNs(_ payload: JSONValue, in record: UnsafeRawBufferPointer) {
        // The last member of the record, in the bytes that are sent.
        let size = record.split(at: Array(#""payload":"#.utf8)).behind.count - 1
        expect(size <= Self.limit, "APNs takes a payload of \(size) bytes")
        expect(payload.member("aps")?.isObject == true, "aps is an object")
    }

    // MARK: What the app reads

    /// The library for phones reads the content that the request had, with the record's message id.
    private func checkReading(_ json: JSONValue, of notification: Notifications.Notification) {
        let text = texts[texts.count - 1]
        guard let record = PushValue(json: text) else { fail("the library reads no JSON in \(text)") }
        guard let push = record["message"] ?? record["payload"] else { fail("the record has no message") }
        let received = ReceivedNotification(json: push.json)
        expect(received.messageID == messageIDs[messageIDs.count - 1], "the app reads the message id: \(received)")
        switch (notification.kind, received) {
        case (.request(.app, _), .app), (.request(.message, _), .message): break
        case (.order, _): fail("a request gave the notification of an order")
        case (.request(let content, _), .order), (.request(let content, _), .app), (.request(let content, _), .message),
            (.request(let content, _), .broadcast), (.request(let content, _), .other),
            (.request(let content, _), .unknown):
            fail("the app reads another kind than \(content): \(received)")
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func isText(_ text: String) -> Bool { elementsEqual(text.utf8) }
}
