import NotificationPayload
import TestSupport
import Testing

@testable import Notifications

@Suite("Whatever the input")
struct ExtractionPropertyTests {
    /// Checks what holds for every result: one of three outcomes; a notification satisfies the document's own
    /// validator, except for the documented fallbacks, and has the same values in its fields as in its payload.
    private func check(_ result: TestResult, _ comment: String) {
        let outcomes = [!result.notifications.isEmpty, result.reason != nil, result.deadLetter != nil]
        #expect(outcomes.filter { $0 }.count == 1, "\(comment)")
        #expect(result.code != .recordRefused, "\(comment)")
        #expect(Set(result.notifications.map(\.orderID)).count == result.notifications.count, "\(comment)")
        for notification in result.notifications {
            let payload = notification.payload
            do throws(OrderPayloadError) {
                try payload.validate()
                #expect(!notification.isDegraded, "\(comment)")
            } catch {
                #expect(notification.isDegraded, "\(comment)")
                let missing = OrderPayloadError.missingFields(["order_id", "parent_order_id"])
                #expect(error == missing || error == .missingFields(["order_id"]), "\(comment)")
            }
            #expect(payload.encoded() == notification.encoded, "\(comment)")
            #expect(payload.orderID == notification.orderID, "\(comment)")
            #expect(payload.placeID == notification.placeID && !payload.placeID.isEmpty, "\(comment)")
            #expect(payload.messageID == notification.messageID, "\(comment)")
            #expect(payload.eventType == notification.eventType.rawValue, "\(comment)")
            #expect(
                (payload.statusChange != nil) == (notification.eventType == .known(.orderStatusChanged)), "\(comment)")
            #expect(notification.messageID.hasPrefix("msg-\(notification.eventTime.milliseconds)-"), "\(comment)")
            #expect(notification.encoded.utf8.count <= EventLimits.maxPayloadSize, "\(comment)")
        }
    }

    @Test("any event gives a valid payload, a reason or a dead letter", arguments: [1, 2, 3, 4] as [UInt64])
    func events(seed: UInt64) throws {
        var generator = EventGenerator(seed: seed)
        let rules = try ExtractionRules(timeZone: "America/New_York", placeTimeZones: ["p1": "Asia/Kolkata"])
        let records = (0..<1500).map { _ in generator.event() }
        let results = extract(records, rules: rules)
        for (index, result) in results.enumerated() {
            check(result, "seed \(seed), event \(index)")
        }
        // The generator is useful only if it reaches all of them.
        #expect(results.contains { $0.notifications.count > 1 })
        #expect(results.contains { $0.reason != nil })
        #expect(results.contains { $0.deadLetter != nil })
        #expect(results.filter { $0.notifications.count == 1 }.count > 300)
    }

    @Test("the same records give the same bytes in any batch", arguments: [5, 6] as [UInt64])
    func deterministic(seed: UInt64) {
        var generator = EventGenerator(seed: seed)
        let records = (0..<300).map { _ in generator.event() }
        let together = extract(records)
        for index in records.indices {
            let alone = extract(records[index])
            #expect(alone.notifications.map(\.encoded) == together[index].notifications.map(\.encoded), "seed \(seed)")
            #expect(alone.deadLetter == together[index].deadLetter, "seed \(seed)")
            #expect(alone.reason == together[index].reason, "seed \(seed)")
            #expect(alone.notes == together[index].notes, "seed \(seed)")
        }
    }

    @Test("a valid event with any one byte changed, removed or doubled is handled")
    func mutations() {
        let event = Array(
            #"{"event_id":"e1","event_type":"ORDER_STATUS_CHANGED","occurred_at":"2025-07-07T10:00:00Z","new_status":"picked","order":{"id":12,"place_id":"p1","order_date":1.5e3,"shipping_info":{"slot":{"start_time":"2 PM","date":"2025-07-07"}},"x":[true,null,"\u00e9é"]}}"#
                .utf8)
        let replacements: [UInt8] = [
            0x00, 0x1F, 0x20, 0x22, 0x2C, 0x30, 0x39, 0x3A, 0x5B, 0x5C, 0x5D, 0x65, 0x75, 0x7B, 0x7D, 0x7F, 0x80, 0xC3,
            0xFF,
        ]
        var records: [TestRecord] = []
        for index in event.indices {
            for byte in replacements {
                var changed = event
                changed[index] = byte
                records.append(TestRecord(bytes: changed))
            }
            records.append(TestRecord(bytes: Array(event[..<index])))
            records.append(TestRecord(bytes: Array(event[..<index] + event[(index + 1)...])))
            records.append(TestRecord(bytes: Array(event[...index] + event[index...])))
        }
        for (index, result) in extract(records).enumerated() {
            check(result, "mutation \(index)")
        }
    }

    @Test("random bytes are dead letters", arguments: [7, 8] as [UInt64])
    func noise(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let records = (0..<500).map { _ in
            TestRecord(bytes: (0..<Int(random.next() % 200)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        }
        for result in extract(records) {
            #expect(result.deadLetter != nil, "seed \(seed)")
        }
    }
}
