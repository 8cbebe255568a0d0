import Foundation
import NotificationPayload
import Notifications
import Testing

@Suite("Envelopes (§4.1, §4.3, docs/code.md §4)")
struct EnvelopeTests {
    private let order = #"{"id":"o1","place_id":"p1"}"#
    private var native: String {
        #"{"event_id":"e1","event_type":"ORDER_CREATED","occurred_at":"2025-07-07T10:00:00Z","order":\#(order)}"#
    }
    private let binary = [
        ("ce_specversion", "1.0"), ("ce_id", "c1"), ("ce_source", "/orders"),
        ("ce_type", "com.example.order.created.v1"),
        ("ce_time", "2025-07-08T10:00:00Z"), ("content-type", "application/json"),
    ]

    private func structured(_ data: String, type: String = "com.example.order.created.v1") -> String {
        #"{"specversion":"1.0","id":"c1","source":"/orders","type":"\#(type)","time":"2025-07-08T10:00:00Z","data":\#(data)}"#
    }

    private func string(_ json: String) -> String {
        "\"" + json.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    private func framed(_ json: String) -> TestRecord {
        TestRecord(bytes: [0, 0, 0, 1, 7] + Array(json.utf8))
    }

    @Test("native: the body with an order is the event")
    func nativeEnvelope() {
        #expect(extract(native).payload?.orderID == "o1")
        #expect(extract(native).notifications.first?.eventTime == 1_751_882_400_000)
    }

    @Test("CloudEvents binary: the type, the id and the time come from the headers, the body may be the order")
    func cloudEventsBinary() {
        let bare = extract(TestRecord(order, headers: binary))
        #expect(bare.payload?.orderID == "o1")
        #expect(bare.notifications.first?.eventTime == 1_751_968_800_000)
        #expect(bare.notifications.first?.eventType == .known(.orderCreated))
        let event = extract(TestRecord(#"{"order":\#(order)}"#, headers: binary))
        #expect(event.notifications.first?.encoded == bare.notifications.first?.encoded)
    }

    @Test("CloudEvents structured says the same as binary, whatever the case and the parameters of its content type")
    func cloudEventsStructured() {
        let expected = extract(TestRecord(order, headers: binary)).notifications[0].encoded
        for type in [
            "application/cloudevents+json; charset=UTF-8", "application/cloudevents+json",
            "Application/CloudEvents+JSON",
            "application/cloudevents",
        ] {
            for name in ["content-type", "Content-Type"] {
                let record = TestRecord(structured(order), headers: [(name, type)])
                #expect(extract(record).notifications.first?.encoded == expected)
            }
        }
        #expect(extract(structured(order)).notifications.first?.encoded == expected)
        #expect(extract(structured(#"{"order":\#(order)}"#)).notifications.first?.encoded == expected)
    }

    @Test("a structured event's own attributes take precedence over those of the headers")
    func structuredBeforeHeaders() {
        let headers = [
            ("content-type", "application/cloudevents+json"), ("ce_id", "other"), ("ce_source", "/x"), ("ce_type", "X"),
        ]
        let result = extract(TestRecord(structured(order), headers: headers))
        #expect(result.notifications.first?.messageID == extract(structured(order)).notifications.first?.messageID)
    }

    @Test(
        "a structured event without data is a dead letter",
        arguments: [
            #"{"specversion":"1.0","id":"1","source":"s","type":"ORDER_CREATED"}"#,
            #"{"specversion":"1.0","id":"1","source":"s","type":"ORDER_CREATED","data":null}"#,
            #"[{"specversion":"1.0"}]"#, "7",
        ])
    func structuredWithoutData(_ json: String) {
        let record = TestRecord(json, headers: [("content-type", "application/cloudevents+json")])
        #expect(extract(record).code == .notAnEvent)
    }

    @Test("docs/code.md §4: the type is event_type, else ce_type, else the header eventType")
    func typePrecedence() {
        let untyped = #"{"order":\#(order)}"#
        func type(_ json: String, _ headers: [(String, String)]) -> OrderEventType? {
            extract(TestRecord(json, headers: headers)).notifications.first?.eventType
        }
        #expect(
            type(native, [("ce_type", "timeslot.started"), ("eventType", "ORDER_IDS_LISTED")]) == .known(.orderCreated))
        #expect(
            type(untyped, [("ce_type", "timeslot.started"), ("eventType", "ORDER_IDS_LISTED")])
                == .known(.timeslotStarted))
        #expect(type(untyped, [("eventType", "UNPICKED_ORDERS_REMINDER")]) == .known(.unpickedOrdersReminder))
        #expect(type(untyped, [("eventType", "")]) == nil)
        #expect(type(untyped, [("ce_type", " "), ("eventType", "ORDER_CREATED")]) == .known(.orderCreated))
    }

    @Test("Debezium outbox: an object, a JSON string, or schema and payload, with its id and type in headers")
    func outbox() {
        let headers = [("id", "7f3a"), ("eventType", "ORDER_CREATED")]
        let expected = extract(TestRecord(order, headers: headers)).notifications.first?.encoded
        #expect(expected != nil)
        let event = #"{"order":\#(order)}"#
        for value in [
            event, string(order), string(event), #"{"schema":null,"payload":\#(order)}"#,
            #"{"schema":{"type":"string"},"payload":\#(string(event))}"#, string(#"{"schema":{},"payload":\#(order)}"#),
            #"{"payload":\#(string(string(order))),"schema":{"type":"string"}}"#,
        ] {
            #expect(extract(TestRecord(value, headers: headers)).notifications.first?.encoded == expected)
        }
        let other = extract(TestRecord(order, headers: [("id", "7f3b"), ("eventType", "ORDER_CREATED")]))
        #expect(other.notifications.first?.encoded != expected)
    }

    @Test("an event or an order with a member named payload or data is not treated as an envelope")
    func notAnEnvelope() {
        let event =
            #"{"event_type":"ORDER_CREATED","schema":1,"payload":"x","specversion":"1.0","data":"x","order":\#(order)}"#
        #expect(extract(event).payload?.orderID == "o1")
        let order = #"{"event_type":"ORDER_CREATED","payload":"x","data":{},"id":"o2","place_id":"p1"}"#
        #expect(extract(order).payload?.orderID == "o2")
    }

    @Test("§4.3: Confluent's five bytes are skipped, around every other envelope too")
    func confluent() {
        let plain = extract(native).notifications[0].encoded
        #expect(extract(framed(native)).notifications.first?.encoded == plain)
        #expect(extract(framed(string(native))).notifications.first?.encoded == plain)
        #expect(extract(framed(#"{"schema":{},"payload":\#(native)}"#)).notifications.first?.encoded == plain)
        #expect(
            extract(framed(structured(order))).notifications.first?.encoded
                == extract(structured(order)).notifications.first?.encoded)
        #expect(extract(TestRecord(bytes: [0, 0, 0, 0, 1])).code == .invalidJSON)
        #expect(extract(TestRecord(bytes: [0, 0, 0, 0, 1, 2])).code == .invalidJSON)
    }

    @Test("CloudEvents structured around Debezium's string around an event")
    func combined() {
        let expected = extract(structured(order)).notifications[0].encoded
        #expect(extract(structured(string(order))).notifications.first?.encoded == expected)
        #expect(
            extract(structured(#"{"schema":{},"payload":\#(string(order))}"#)).notifications.first?.encoded == expected)
        #expect(extract(string(structured(order))).notifications.first?.encoded == expected)
    }

    @Test("the data_base64 of a structured event is decoded, with or without the content type")
    func base64Data() {
        let expected = extract(structured(order)).notifications[0].encoded
        let event = #"{"order":\#(order), "note":"\#(String(repeating: "x", count: 300))é?>~"}"#
        for data in [order, order + " ", order + "  ", event] {
            let encoded = Data(data.utf8).base64EncodedString()
            let json = structured("0").replacing(#""data":0"#, with: #""data_base64":"\#(encoded)""#)
            #expect(extract(json).notifications.first?.encoded == expected)
            let record = TestRecord(json, headers: [("content-type", "application/cloudevents+json")])
            #expect(extract(record).notifications.first?.encoded == expected)
            #expect(extract(string(json)).notifications.first?.encoded == expected)
        }
        for (wrong, code) in [
            ("!!!!", DeadLetter.Code.notAnEvent), ("eyJ", .notAnEvent), ("", .invalidJSON), ("e30=e30=", .notAnEvent),
            ("====", .notAnEvent), ("////", .invalidUTF8), ("W10=", .notAnEvent), ("ew==", .invalidJSON),
        ] {
            let json = structured("0").replacing(#""data":0"#, with: #""data_base64":"\#(wrong)""#)
            #expect(extract(json).code == code, "\(wrong)")
        }
    }

    @Test("a structured event inside a string keeps its attributes while its data, a string too, is read")
    func attributesOfAnInnerEnvelope() {
        let expected = extract(structured(order)).notifications[0].encoded
        #expect(extract(string(structured(string(order)))).notifications.first?.encoded == expected)
        #expect(extract(string(string(structured(string(string(order)))))).notifications.first?.encoded == expected)
    }

    @Test("§4.3: 8 nested envelopes are removed, whichever they are; a ninth is a dead letter")
    func nested() {
        var schemas = native
        var strings = native
        for count in 1...9 {
            schemas = #"{"schema":{},"payload":\#(schemas)}"#
            strings = count % 2 == 0 ? #"{"schema":{},"payload":\#(strings)}"# : string(strings)
            for value in [schemas, strings, structured(count == 1 ? native : schemas)] {
                let depth = value.hasPrefix(#"{"specversion"#) && count > 1 ? count + 1 : count
                #expect(extract(value).payload?.orderID == (depth <= 8 ? "o1" : nil), "\(depth)")
                #expect(extract(value).code == (depth <= 8 ? nil : .notAnEvent), "\(depth)")
            }
        }
    }

    @Test("the last header with a name counts; one without a value does not")
    func headers() {
        var record = TestRecord(order, headers: [("eventType", "X"), ("eventType", "ORDER_CREATED")])
        record.headers.append(("eventType", nil))
        record.headers.append(("", Array("x".utf8)))
        record.headers.append(("ce_type", nil))
        #expect(extract(record).notifications.count == 1)
    }

    @Test(
        "a body that is not an object is a dead letter",
        arguments: ["[]", "7", "true", "null", "\"null\"", "\"7\"", "[{\"order\":{}}]"])
    func notAnObject(_ json: String) {
        #expect(extract(json).code == .notAnEvent)
    }

    @Test("a byte order mark is skipped")
    func byteOrderMark() {
        #expect(extract("\u{FEFF}" + native).payload?.orderID == "o1")
    }
}
