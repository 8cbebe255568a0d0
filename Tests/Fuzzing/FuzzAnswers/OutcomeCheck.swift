import Digests
import FuzzSupport
import JSONReader
import NotificationPayload
import Notifications

/// The body as a value of notifications.deliveries.
struct OutcomeCheck: ~Copyable {
    private var reader = JSONReader()

    mutating func check(_ input: Input) {
        guard let value = try? reader.parse(input.body), let record = try? DeliveryRecord(value) else { return }
        var text = ByteWriter()
        record.append(to: &text)
        let bytes = Array(text.bytes)
        let again = must { try bytes.withUnsafeBytes { try DeliveryRecord(reader.parse($0)) } }
        expect(again == record, "written and read again it is the same: \(record), \(again)")
        expect(PushValue(json: bytes) != nil, "what is written is JSON")
        let isHash = Array(record.device.utf8).withUnsafeBytes { Hex.isHash($0) }
        expect(isHash, "a device is 64 hex digits: \(record.device)")
        let times = [record.evidence, record.firstSentAt, record.lastSentAt]
        let isRight = times.allSatisfy { ($0 ?? .epoch) >= .epoch } && record.offset >= 0
        expect(isRight, "nothing in an outcome is negative: \(record)")
    }
}
