import NotificationPayload
import Testing

@testable import Notifications

@Suite("§6: message ids")
struct MessageIDTests {
    private let order = #""order":{"id":"742ba33c-0c02-43e7-80b0-eb795c14dc6f","place_id":"p1"}"#

    @Test("§6 vector 1: the id of a CloudEvent comes from its source and its id")
    func cloudEvent() {
        let record = TestRecord(
            "{\(order)}",
            headers: [
                ("ce_source", "/orders/uos"), ("ce_id", "4d47e190-0402-4048-bc2c-89dd54343cdc"),
                ("ce_type", "ORDER_CREATED"), ("ce_time", "2024-09-07T11:15:21Z"),
            ])
        #expect(extract(record).notifications.first?.messageID == "msg-1725707721000-vsgxl8m52")
    }

    @Test("§6 vector 2: without any id it comes from the record's coordinates")
    func coordinates() {
        var record = TestRecord(
            #"{"event_type":"ORDER_STATUS_CHANGED","new_status":"picked","occurred_at":1725707721000,\#(order)}"#)
        record.topic = "orders.events.v1"
        record.partition = 3
        record.offset = 4711
        #expect(extract(record).notifications.first?.messageID == "msg-1725707721000-9puafbwzj")
    }

    @Test("§6 vector 3: the id of a native event comes from its event_id")
    func eventID() {
        let json = """
            {"event_id":"6f1c0b0e-3a52-4a57-9d0c-0d8f3f8d8a11","event_type":"ORDER_CREATED",\
            "occurred_at":"1725707721000",\(order)}
            """
        #expect(extract(json).notifications.first?.messageID == "msg-1725707721000-n1ds8346t")
    }

    @Test("§6 vector 4: the id of a timer comes from the order, the slot and the number of the reminder")
    func timer() {
        var identity = MessageIdentity()
        identity.begin(tag: "timer")
        for part in ["742ba33c-0c02-43e7-80b0-eb795c14dc6f", "2025-07-07", "14:00"] {
            Array(part.utf8).withUnsafeBytes { identity.append($0) }
        }
        identity.append(1)
        identity.end(type: EventType.unpickedOrdersReminder.name)
        var id = [UInt8](repeating: 0, count: MessageIdentity.maxCount)
        let count = Array("742ba33c-0c02-43e7-80b0-eb795c14dc6f".utf8).withUnsafeBytes { order in
            id.withUnsafeMutableBufferPointer { buffer in
                buffer.baseAddress.map {
                    identity.write(orderID: order, eventTime: 1_751_897_700_000, to: $0)
                }
            }
        }
        #expect(String(decoding: id.prefix(count ?? 0), as: UTF8.self) == "msg-1751897700000-z51zax4yg")
    }

    @Test("§6 vector 5: no time and no order id still give an id")
    func nothing() {
        var record = TestRecord(#"{"event_type":"ORDER_CREATED","order":{"place_id":"p1"}}"#)
        record.topic = "orders.events.v1"
        let result = extract(record)
        #expect(result.notifications.first?.messageID == "msg-0-y11n5dk7h")
        #expect(result.notifications.first?.isDegraded == true)
    }

    @Test("§6: a header id goes before event_id, a CloudEvents id before both")
    func precedence() {
        let json = #"{"event_type":"ORDER_CREATED","event_id":"e","occurred_at":0,\#(order)}"#
        let ce = [("ce_id", "c"), ("ce_source", "s")]
        let results = extract([
            TestRecord(json), TestRecord(json, headers: [("id", "e")]), TestRecord(json, headers: [("id", "x")] + ce),
            TestRecord(json, headers: ce), TestRecord(json, headers: [("ce_id", "c")]),
        ]).map { $0.notifications[0].messageID }
        #expect(results[0] != results[1])
        #expect(results[2] == results[3])
        #expect(results[2] != results[1])
        // Without a source there is no CloudEvents id.
        #expect(results[4] == results[0])
    }

    @Test("§6: what comes back from our dead letters keeps its id; headers without our mark name no record")
    func deadLetterReplay() {
        let json = #"{"event_type":"ORDER_CREATED",\#(order)}"#
        var original = TestRecord(json)
        original.topic = "orders.events"
        original.partition = 4
        original.offset = 99
        let coordinates = [
            ("__connect.errors.topic", "orders.events"), ("__connect.errors.partition", "4"),
            ("__connect.errors.offset", "99"),
        ]
        let others = [
            ("__connect.errors.topic", "retry"), ("__connect.errors.partition", "0"), ("__connect.errors.offset", "1"),
        ]
        func id(_ headers: [(String, String)]) -> String {
            var record = TestRecord(json, headers: headers)
            record.offset = 5000
            return extract([record])[0].notifications[0].messageID
        }
        let expected = extract([original])[0].notifications[0].messageID
        for mark in [("x-error-code", "no_place"), ("replay-of", "notifications.dead-letters/0/7")] {
            #expect(id([mark] + coordinates) == expected)
            // The first failure counts, and what another program wrote before it does not.
            #expect(id([mark] + coordinates + [("x-error-code", "no_place")] + others) == expected)
            #expect(id(others + [mark] + coordinates) == expected)
        }
        #expect(id(coordinates) == id([]) && id(coordinates) != expected)
    }

    @Test("§5.3 row 16: an id has always nine characters behind the last hyphen")
    func length() {
        let records = (Int64(0)..<500).map { offset in
            var record = TestRecord(#"{"event_type":"ORDER_CREATED",\#(order)}"#)
            record.offset = offset
            return record
        }
        let ids = extract(records).map { $0.notifications[0].messageID }
        #expect(Set(ids).count == 500)
        #expect(ids.allSatisfy { $0.wholeMatch(of: /msg-0-[0-9a-z]{9}/) != nil })
    }
}
