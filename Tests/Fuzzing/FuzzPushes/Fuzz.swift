import FuzzSupport

@testable import NotificationPayload

private let links =
    (try? DeepLinks(
        templates: ["food": "https://shop.example/f?{order_id}", "d2d": "https://shop.example/d/{order_id}"]))
    ?? DeepLinks()

/// What a phone receives, as JSON: read from the bytes, as the dictionary that a system hands to the app, and as FCM's
/// data.
@c(LLVMFuzzerTestOneInput)
public func fuzzPush(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    let bytes = input(data, size)
    let notification = ReceivedNotification(json: bytes)
    check(notification)
    guard let value = PushValue(json: bytes) else {
        guard case .unknown(let unknown) = notification else { fail("no JSON gave \(notification)") }
        expect(unknown.reason == .notAnObject, "what is no JSON is said to be no object")
        return 0
    }
    expect(PushValue(json: value.json) == value, "written and read again it is the same: \(value.json)")
    expect(PushValue(any: plain(value)) == value, "the same from the system's types: \(value.json)")
    guard let members = value.object else { return 0 }
    let push = ReceivedPush(userInfo: members.mapValues(plain) as [AnyHashable: Any])
    expect(push == ReceivedPush(payload: members), "a dictionary is read as the JSON of APNs: \(value.json)")
    check(ReceivedNotification(push))
    let texts = members.compactMapValues(\.text)
    check(ReceivedNotification(data: texts))
    for problem in OrderPayload.problems(in: texts) { expect(!"\(problem)".isEmpty, "a problem says what it is") }
    return 0
}

/// As Swift's own types; a number that Swift's integers would write differently stays as it is.
private func plain(_ value: PushValue) -> Any {
    switch value {
    case .null: return String?.none as Any
    case .bool(let flag): return flag
    case .number(let text):
        if let number = Int(text), "\(number)" == text { return number }
        return value
    case .string(let text): return text
    case .array(let elements): return elements.map(plain)
    case .object(let members): return members.mapValues(plain) as [AnyHashable: Any]
    }
}

/// What an app may do with whatever it has read.
private func check(_ notification: ReceivedNotification) {
    if let url = notification.deepLink(links) {
        expect(url.hasPrefix("https://shop.example/"), "a link begins as its template: \(url)")
        let isSafe = url.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "+")
        }
        expect(isSafe, "a link is ASCII, and its id is encoded: \(url)")
    }
    var known = Deduplicator(capacity: 2)
    let id = notification.messageID
    expect(!known.isRepeat(id), "the first one is no repeat")
    expect(known.isRepeat(id) == (id != nil), "the second one is, if it has an id: \(id ?? "none")")
    switch notification {
    case .order(let order):
        let isValid = (try? order.payload.validate()) != nil
        expect(order.payload.problems.isEmpty == isValid, "what is valid has no problems: \(order.payload.problems)")
        if isValid {
            let again = try? OrderPayload(encoded: order.payload.encoded())
            expect(again == order.payload, "a valid order is the same, written and read again: \(order.payload)")
        }
    case .other(let other):
        expect(EventType(rawValue: other.order.payload.eventType) == nil, "another type is none of document 1")
        expect(other.order.payload.eventType == "event_\(other.name)", "another type has its name in the payload")
    case .app(let app): expect(!app.type.isEmpty, "an app notification has a type")
    case .broadcast(let broadcast):
        expect(!broadcast.actionType.isEmpty && !broadcast.notificationID.isEmpty, "a broadcast has both keys")
    case .message: break
    case .unknown(let unknown): expect(!"\(unknown.reason)".isEmpty, "a reason says what it is")
    }
}
