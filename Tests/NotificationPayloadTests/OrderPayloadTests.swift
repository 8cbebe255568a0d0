import NotificationPayload
import Testing

@Suite("Document 1's payload, on both sides of the wire")
struct OrderPayloadTests {
    private let id = "742ba33c-0c02-43e7-80b0-eb795c14dc6f"
    private var payload: OrderPayload {
        OrderPayload(
            messageID: "msg-1725707721000-xyz789ghi", orderID: id, parentOrderID: id,
            visibleID: "ORDER-20250707-1021", eventType: "event_order_status_changed", deliveryDate: "2025-07-07",
            startTime: "14:00", endTime: "16:00", placeID: "1ee68c4e-7008-4227-a92d-e1b13ac64f30",
            statusChange: .init(previous: "pending", new: "processing", orderNumber: "ORDER-20250707-1021"))
    }

    @Test("a payload has the document's field order, no spaces and nothing else")
    func encoding() {
        #expect(
            payload.encoded() == """
                {"data":{"message_id":"msg-1725707721000-xyz789ghi","order_id":"\(id)","parent_order_id":"\(id)",\
                "visible_id":"ORDER-20250707-1021","event_type":"event_order_status_changed",\
                "delivery_date":"2025-07-07","start_time":"14:00","end_time":"16:00",\
                "place_id":"1ee68c4e-7008-4227-a92d-e1b13ac64f30","previous_status":"pending",\
                "new_status":"processing","order_number":"ORDER-20250707-1021"}}
                """)
    }

    @Test("§5.3 row 7: only a status change has the fields of one")
    func noStatusChange() {
        var created = payload
        created.statusChange = nil
        #expect(created.encoded().hasSuffix(#""place_id":"1ee68c4e-7008-4227-a92d-e1b13ac64f30"}}"#))
    }

    @Test("what was written is read again, whatever the text")
    func roundTrip() throws {
        var odd = payload
        odd.visibleID = "a\"b\\c/d\u{0}\u{1}\u{8}\t\n\u{B}\u{C}\r\u{1F}\u{7F}é😀\u{2028}"
        odd.placeID = "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\""
        #expect(try OrderPayload(encoded: odd.encoded()) == odd)
        odd.statusChange = nil
        #expect(try OrderPayload(data: ["default": odd.encoded()]) == odd)
    }

    @Test("§5.3 row 13: the payload is read from the string in default, else from the legacy flat form")
    func legacy() throws {
        let flat = [
            "message_id": "m", "order_id": "o", "parent_order_id": "p", "visible_id": "v", "event_type": "e",
            "delivery_date": "2025-07-07", "start_time": "14:00", "end_time": "16:00", "place_id": "x",
        ]
        #expect(try OrderPayload(data: flat).placeID == "x")
        #expect(try OrderPayload(data: flat.merging(["default": ""]) { $1 }).orderID == "o")
        #expect(try OrderPayload(data: flat.merging(["default": payload.encoded()]) { $1 }) == payload)
        #expect(throws: OrderPayloadError.unreadable) {
            try OrderPayload(data: flat.merging(["default": "{"]) { $1 })
        }
    }

    @Test(
        "a default that JSON.parse refuses, or without an object data, is unreadable",
        arguments: [
            "", "{", "null", "[]", "{}", #"{"data":null}"#, #"{"data":[]}"#, #"{"data":{}"#, #"{"data":{}}x"#,
            #"{"data":{"a":01}}"#, #"{"data":{"a":"\x"}}"#, #"{"data":{"a":1,}}"#, #"{"data":{"a" 1}}"#,
            #"{"data":{"a":tru}}"#, #"{"data":{"a":1.}}"#, #"{"data":{"a":1e}}"#, #"{"data":{"a":"\u12g4"}}"#,
            "{\"data\":{\"a\":\"\n\"}}", String(repeating: "[", count: 10_000),
            #"{"data":{"a":"# + String(repeating: "[", count: 10_000) + "}}",
        ])
    func unreadable(_ text: String) {
        #expect(throws: OrderPayloadError.unreadable) { try OrderPayload(encoded: text) }
    }

    @Test("of a member that occurs twice the last one wins, as in JavaScript")
    func duplicates() throws {
        let payload = try OrderPayload(
            encoded:
                #" { "data":{"order_id":"no"}, "data" : {"order_id":"a","order_id":"b","place_id":"p","place_id":null, "x":[1,{"y":[]}], "visible_id" : 12.50 } } "#
        )
        #expect(payload.orderID == "b")
        #expect(payload.placeID == "")
        #expect(payload.visibleID == "12.50")
    }

    @Test("escapes of every kind are read, and half a surrogate pair does no harm")
    func escapes() throws {
        let payload = try OrderPayload(
            encoded:
                #"{"data":{"order_id":"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00","place_id":"\ud83d|\ud83d\u0041|\ude00"}}"#)
        #expect(payload.orderID == "\"\\/\u{8}\u{C}\n\r\té😀")
        #expect(payload.placeID == "\u{FFFD}|\u{FFFD}A|\u{FFFD}")
    }

    @Test("the document's example is valid")
    func valid() throws {
        try payload.validate()
    }

    @Test("§5.3 row 1: an empty order id is a missing field, as for the document's own validator")
    func missing() {
        var empty = payload
        empty.orderID = ""
        empty.parentOrderID = ""
        #expect(throws: OrderPayloadError.missingFields(["order_id", "parent_order_id"])) { try empty.validate() }
    }

    @Test("§5.3 row 3: a payload without a visible id is valid")
    func visibleID() throws {
        var payload = payload
        payload.visibleID = ""
        try payload.validate()
    }

    @Test(
        "§5.3 row 11: a date that is none is invalid, though the document's pattern accepts some",
        arguments: [
            "2025-13-45", "2025-02-29", "2025-00-01", "2025-01-00", "2025-06-31", "25-07-07", "2025-7-7", "2025/07/07",
            "٢٠٢٥-07-07", "2025-07-07T00:00", "+025-07-07", "",
        ])
    func dates(_ date: String) {
        var payload = payload
        payload.deliveryDate = date
        #expect(throws: OrderPayloadError.self) { try payload.validate() }
    }

    @Test(
        "§5.3 row 11: a time that is none is invalid, though the document's pattern accepts some",
        arguments: ["25:99", "24:00", "14:60", "2:00", "14:00:00", "٠١:00", "-1:00", "14.00", "1400"])
    func times(_ time: String) {
        var payload = payload
        payload.endTime = time
        #expect(throws: OrderPayloadError.invalidTime(time)) { try payload.validate() }
        payload.endTime = "16:00"
        payload.startTime = time
        #expect(throws: OrderPayloadError.invalidTime(time)) { try payload.validate() }
    }

    @Test("a leap day is a date")
    func leapDay() throws {
        var payload = payload
        payload.deliveryDate = "2024-02-29"
        try payload.validate()
    }

    @Test("an error says what is wrong")
    func descriptions() {
        #expect(OrderPayloadError.missingFields(["order_id"]).description == "missing required fields: order_id")
        #expect(OrderPayloadError.invalidTime("25:99").description.contains("25:99"))
        #expect(OrderPayloadError.invalidDate("x").description.contains("YYYY-MM-DD"))
        #expect(!OrderPayloadError.unreadable.description.isEmpty)
    }
}
