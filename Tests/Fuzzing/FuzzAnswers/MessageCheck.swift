import FuzzSupport
import JSONReader
import NotificationPayload

@testable import Notifications
@testable import Sender

/// A dispatch record: to whom it goes, and the requests that are made of its value, compared with another parser's reading.
struct MessageCheck: ~Copyable {
    private static let hash = [UInt8](String(repeating: "0a", count: 32).utf8)

    private var reader = JSONReader()
    private let token: BearerToken

    init() {
        guard let token = BearerToken("made-up".utf8) else { fail("the token is none") }
        self.token = token
    }

    mutating func check(_ input: Input) {
        let target = checkTarget(input)
        checkFCM(input.body)
        checkAPNs(input.body, target)
    }

    private mutating func checkTarget(_ input: Input) -> DispatchTarget? {
        let target = Self.hash.withUnsafeBytes { hash in
            try? DispatchTarget(
                key: input.header("key") ?? hash, value: input.body, header: { input.header($0) }, &reader)
        }
        guard let target else { return nil }
        expect(target.deviceHash.utf8.count == 64 && target.deviceHash.isVisible, "the device is a hash")
        expect(!target.messageID.isEmpty && target.app?.isEmpty != true, "nothing is empty: \(target)")
        expect(target.environment == nil || target.platform == .apns, "FCM has no environment: \(target)")
        for now in [.epoch, Input.now, .distantFuture] {
            let left = FCMRequest.secondsLeft(expiresAt: target.expiresAt, now: now)
            expect((0...2_419_200).contains(left), "what is left is at most four weeks: \(left)")
            expect(left == 0 || now <= target.expiresAt - left * 1_000, "and never more than there is: \(left)")
        }
        return target
    }

    /// Another parser reads the same value as before, but for `android.ttl`.
    private mutating func checkFCM(_ value: UnsafeRawBufferPointer) {
        let body = try? FCMRequest.body(value, seconds: 17)
        if let body {
            let wasJSON = (try? reader.parse(value)) != nil
            expect(body.withUnsafeBytes { (try? reader.parse($0)) != nil } || !wasJSON, "JSON stays JSON")
        }
        guard let before = PushValue(json: value) else { return }
        var root = before.object ?? [:]
        var message = root["message"]?.object ?? [:]
        var isMessage = !message.isEmpty
        if let android = message["android"], android.object == nil { isMessage = false }
        expect((body != nil) == isMessage, "what is a message is sent, and nothing else: \(before.json)")
        guard let body else { return }
        guard let after = PushValue(json: body) else { fail("no JSON is left of \(before.json)") }
        var android = message["android"]?.object ?? [:]
        android["ttl"] = .string("17s")
        message["android"] = .object(android)
        root["message"] = .object(message)
        expect(after == .object(root), "nothing but android.ttl has changed: \(before.json), \(after.json)")
    }

    private mutating func checkAPNs(_ value: UnsafeRawBufferPointer, _ target: DispatchTarget?) {
        guard let record = try? APNsRequest(value, &reader) else { return }
        guard let whole = PushValue(json: value) else { fail("a message of APNs is no JSON") }
        let request = Self.hash.withUnsafeBytes { record.request(messageID: $0, device: $0, token: token) }
        expect(PushValue(json: request.body) == whole["payload"], "the payload is sent: \(whole.json)")
        expect(whole["payload"]?.object != nil, "the payload is an object: \(whole.json)")
        let device = request.url.split(separator: "/3/device/", maxSplits: 1).last ?? ""
        expect(String(device) == whole["device_token"]?.string, "the token is in the path: \(request.url)")
        expect(!device.isEmpty && device.utf8.allSatisfy { Self.isHexDigit($0) }, "a token is hex: \(request.url)")
        expect(record.app == whole["headers"]?["apns-topic"]?.string, "the topic is the record's: \(record.app)")
        expect(request.headers.filter { $0.name == "apns-id" }.count == 1, "there is one apns-id")
        expect(request.headers.filter { $0.name == "authorization" }.count == 1, "there is one token")
        for header in request.headers {
            expect(
                header.name.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x2D }, "a header's name: \(header)")
            expect(header.value.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a header's value: \(header)")
        }
        guard let target, target.platform == .apns else { return }
        expect(target.app == record.app, "the credential is that of the app to which it is sent: \(target)")
        expect(target.environment == record.environment, "and of the environment: \(target)")
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
    }
}
