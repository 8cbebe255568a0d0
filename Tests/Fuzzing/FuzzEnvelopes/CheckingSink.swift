import FuzzSupport
import JSONReader

@testable import Notifications
@testable import Pipeline

/// Counts what the core writes, and checks each record of it.
struct CheckingSink: RecordSink {
    private(set) var dispatches = 0
    private(set) var deadLetters = 0
    private(set) var suppressions = 0

    mutating func dispatch(
        _ record: DispatchRecord, for notification: Notifications.Notification, from event: EventRecord
    ) {
        dispatches += 1
        expect(record.key.count == 64, "the key is a SHA-256 in hex")
        var reader = JSONReader()
        must {
            let document = try reader.parse(record.value)
            let message = document.member("message")
            let token = (message?.member("token") ?? document.member("device_token"))?.string
            let expected = message == nil ? TwoDevices.appleToken : TwoDevices.androidToken
            expect(token?.bytes.elementsEqual(expected.utf8) == true, "the record is for one of the two devices")
            let payload = message?.member("data") ?? document.member("payload")
            guard let text = payload?.member("default")?.string else { fail("the record has no default string") }
            switch notification.kind {
            case .request: fail("an event gave the notification of a request")
            case .order(let order):
                _ = checkPayload(String(decoding: text.bytes, as: UTF8.self), isDegraded: order.isDegraded)
            }
        }
    }

    mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) {
        deadLetters += 1
        expect(key == nil && event.key == nil || key?.isSame(as: event.key) == true, "the key is kept")
        expect(value == nil && event.value == nil || value?.isSame(as: event.value) == true, "the value is kept")
        expect(headers.count >= event.headers.count, "the headers are kept")
    }

    mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) { suppressions += 1 }
}
