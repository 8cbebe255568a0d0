import NotificationPayload
import TestSupport
import Testing

@Suite("No push traps")
struct MalformedPushTests {
    private static let samples = [
        #"{"aps":{"alert":{"title":"é😀","body":"\ud83d\ude00"},"badge":3},"k":[1.5e-3,true,null,{"a":"b"}]}"#,
        #"{"default":"{\"data\":{\"message_id\":\"msg-0-y11n5dk7h\",\"event_type\":\"e\",\"order_id\":12}}","order_type":"food","order_id":"1"}"#,
        #"{"notification":{"title":"t"},"data":{"type":"NewBill","bill_matched_via_banking_card":"True"}}"#,
        #"{"actiontype":"display","notificationid":"1235","fields":"[{\"language\":\"en\"}]","data":"free"}"#,
        #"{"event_type":"event_order_created","delivery_date":"2025-07-07","start_time":"14:00","place_id":"p"}"#,
    ]

    /// Does with a push whatever an app may do.
    private func use(_ notification: ReceivedNotification) {
        _ = notification.messageID
        _ = notification.deepLink(DeepLinks())
        switch notification {
        case .order(let order): _ = (order.payload.problems, order.payload.encoded())
        case .other(let other): _ = (other.name, other.fields, other.order.payload.problems)
        case .app(let app): _ = app.flag("bill_matched_via_banking_card")
        case .message(let message): _ = message.extras.mapValues(\.text)
        case .broadcast(let broadcast): _ = (broadcast.content, broadcast.expiresAt, broadcast.data)
        case .unknown(let unknown): _ = (unknown.reason.description, unknown.push.data.mapValues(\.json))
        }
    }

    @Test("arbitrary bytes are read as something, or as unknown", arguments: [31, 32, 33] as [UInt64])
    func arbitraryBytes(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let alphabet = Array("{}[]\",:\\u0d8e+-.truefalsnl \u{0}".utf8) + [0x80, 0xC3, 0xFF]
        for _ in 0..<3_000 {
            let isFromAlphabet = Bool.random(using: &generator)
            let bytes = (0..<Int.random(in: 0..<60, using: &generator)).map { _ in
                isFromAlphabet
                    ? alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
                    : UInt8.random(in: 0...255, using: &generator)
            }
            use(ReceivedNotification(json: bytes))
            use(ReceivedNotification(data: ["default": String(decoding: bytes, as: UTF8.self)]))
        }
    }

    @Test("a push that is cut off anywhere is unknown")
    func truncated() {
        for sample in Self.samples {
            let bytes = Array(sample.utf8)
            for count in 0..<bytes.count {
                let notification = ReceivedNotification(json: bytes.prefix(count))
                guard case .unknown(let unknown) = notification else {
                    Issue.record("\(count) bytes of \(sample) were read")
                    continue
                }
                #expect(unknown.reason == .notAnObject)
            }
        }
    }

    @Test("a push with other bytes in it is read, or is unknown", arguments: [34, 35, 36] as [UInt64])
    func mutated(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<3_000 {
            var bytes = Array(Self.samples[Int.random(in: 0..<Self.samples.count, using: &generator)].utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.insert(contentsOf: bytes[index...].prefix(9), at: index)
                default: bytes.removeSubrange(index..<min(index + 5, bytes.count - 1))
                }
            }
            use(ReceivedNotification(json: bytes))
        }
    }

    @Test(
        "any tree in the place of what the providers and documents name is read", arguments: [37, 38, 39] as [UInt64])
    func anyTree(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let names = [
            "aps", "data", "notification", "default", "event_type", "actiontype", "notificationid", "type",
            "message_id", "order_type", "order_id", "fcm_options", "collapse_key", "gcm.message_id", "x",
        ]
        for _ in 0..<2_000 {
            var members: [String: PushValue] = [:]
            for name in names where Bool.random(using: &generator) {
                members[name] = .random(using: &generator)
            }
            use(ReceivedNotification(json: PushValue.object(members).json))
            use(ReceivedNotification(ReceivedPush(payload: members)))
        }
    }

    @Test("deep nesting is refused, wherever it is", arguments: ["[", #"{"a":"#])
    func deepNesting(_ opening: String) {
        let deep = String(repeating: opening, count: 200_000)
        use(ReceivedNotification(json: deep))
        use(ReceivedNotification(data: ["default": #"{"data":"# + deep]))
        use(ReceivedNotification(json: #"{"aps":{"alert":"# + deep + "}}"))
    }
}
