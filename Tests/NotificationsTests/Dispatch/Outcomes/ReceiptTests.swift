import JSONReader
import Testing

@testable import Notifications

@Suite("What a phone says of a push")
struct ReceiptTests {
    private let sample = Receipt(
        .opened, of: "msg-1-\"a\"", device: String(repeating: "0a", count: 32), at: 1_751_875_340_123, platform: .apns,
        app: "com.example.\"shop\"")

    private func read(_ text: String) -> Receipt? {
        var reader = JSONReader()
        return Array(text.utf8).withUnsafeBytes { bytes in (try? reader.parse(bytes)).flatMap { Receipt($0) } }
    }

    @Test("what is written is read back, of every kind", arguments: Receipt.Kind.allCases)
    func roundTrip(_ kind: Receipt.Kind) {
        var receipt = sample
        receipt.kind = kind
        #expect(read(String(decoding: receipt.json, as: UTF8.self)) == receipt)
    }

    @Test("another version, a member that is missing or unknown, and what is no object are no receipt")
    func foreign() {
        let text = String(decoding: sample.json, as: UTF8.self)
        for (old, new) in [
            ("\"version\":1", "\"version\":2"), ("message_id", "message"), ("opened", "read"), ("apns", "sms"),
            ("\"at\":1751875340123", "\"at\":\"now\""), ("\"app\"", "\"ap\""), ("\"device\"", "\"devise\""),
        ] {
            #expect(text.contains(old) && read(text.replacing(old, with: new)) == nil)
        }
        #expect(read("[]") == nil && read("{}") == nil && read("1") == nil)
    }
}
