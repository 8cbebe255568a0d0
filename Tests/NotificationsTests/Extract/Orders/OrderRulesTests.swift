import NotificationPayload
import Testing

@testable import Notifications

@Suite("§5.3: the contradictions of document 1")
struct OrderRulesTests {
    private func changed(_ members: String, order: String = "") -> String {
        let more = members.isEmpty ? "" : members + ","
        let rest = order.isEmpty ? "" : "," + order
        return #"{"event_type":"ORDER_STATUS_CHANGED",\#(more)"order":{"id":"o1","place_id":"p1"\#(rest)}}"#
    }

    @Test("the document's example event gives the document's example payload")
    func example() throws {
        let id = "742ba33c-0c02-43e7-80b0-eb795c14dc6f"
        let place = "1ee68c4e-7008-4227-a92d-e1b13ac64f30"
        let result = extract(
            """
            {"event_id":"e1","event_type":"ORDER_STATUS_CHANGED","occurred_at":"2024-09-07T11:15:21Z",
             "previous_status":"pending","new_status":"processing","order":{
              "id":"\(id)","order_number":"ORDER-20250707-1021","place_id":"\(place)","shipping_info":{
               "slot":{"date":"2025-07-07","start_time":"14:00","end_time":"16:00"}}}}
            """)
        let notification = try #require(result.notifications.first)
        #expect(
            notification.encoded == """
                {"data":{"message_id":"\(notification.messageID)","order_id":"\(id)","parent_order_id":"\(id)",\
                "visible_id":"ORDER-20250707-1021","event_type":"event_order_status_changed",\
                "delivery_date":"2025-07-07","start_time":"14:00","end_time":"16:00","place_id":"\(place)",\
                "previous_status":"pending","new_status":"processing","order_number":"ORDER-20250707-1021"}}
                """)
        #expect(notification.messageID.hasPrefix("msg-1725707721000-"))
        #expect(notification.placeID == place)
        #expect(notification.orderID == id)
        #expect(!notification.isDegraded)
        try notification.payload.validate()
    }

    @Test("§5.3 row 1: without an order id it is sent all the same, empty and degraded")
    func missingOrderID() {
        let result = extract(#"{"event_type":"ORDER_CREATED","order":{"place_id":"p1"}}"#)
        #expect(result.payload?.orderID == "")
        #expect(result.payload?.parentOrderID == "")
        #expect(result.payload?.visibleID == "")
        #expect(result.notifications.first?.isDegraded == true)
        #expect(result.sources?.orderID == .fallback)
        #expect(throws: OrderPayloadError.missingFields(["order_id", "parent_order_id"])) {
            try result.payload?.validate()
        }
    }

    @Test("§5.3 row 1: on-missing-order-id=dead-letter makes it a dead letter")
    func missingOrderIDAsDeadLetter() throws {
        let rules = try ExtractionRules(onMissingOrderID: .deadLetter)
        #expect(
            extract(#"{"event_type":"ORDER_CREATED","order":{"place_id":"p1"}}"#, rules: rules).code == .missingOrderID)
        #expect(
            extract(#"{"event_type":"ORDER_IDS_LISTED","place_id":"p1","orders":[{}]}"#, rules: rules).code
                == .missingOrderID)
        #expect(extract(created(""), rules: rules).notifications.count == 1)
        #expect(ExtractionRules.MissingOrderID(rawValue: "dead-letter") == .deadLetter)
    }

    @Test("§5.3 row 2: the place comes from the event, the order, its place or its shipping")
    func place() {
        let event = #""place_id":"p1""#
        let order = #""place_id":"p2""#
        let nested = #""place":{"id":"p3"}"#
        let shipping = #""shipping_info":{"place_id":"p4"}"#
        let cases = [
            (event, "\(order),\(nested),\(shipping)", "p1"),
            (#""place_id":" ""#, "\(order),\(nested),\(shipping)", "p2"),
            (#""place_id":null"#, "\(nested),\(shipping)", "p3"), (#""place_id":true"#, shipping, "p4"),
            (#""place_id":{}"#, #""place":"p5",\#(shipping)"#, "p4"), (#""place_id":17"#, order, "17"),
        ]
        for (event, order, expected) in cases {
            let result = extract(#"{"event_type":"ORDER_CREATED",\#(event),"order":{"id":"o1",\#(order)}}"#)
            #expect(result.payload?.placeID == expected)
            #expect(result.notifications.first?.placeID == expected)
        }
    }

    @Test("§5.3 row 2: without a place there is a dead letter that names the order")
    func noPlace() {
        let result = extract(#"{"event_type":"ORDER_CREATED","order":{"id":"o-17"}}"#)
        #expect(result.code == .noPlace)
        #expect(result.deadLetter?.message.contains("\"o-17\"") == true)
        #expect(extract(#"{"event_type":"ORDER_CREATED","order":{}}"#).code == .noPlace)
        // The event is not counted as suppressed too.
        #expect(
            extract(#"{"event_type":"ORDER_STATUS_CHANGED","previous_status":"a","new_status":"a","order":{}}"#).code
                == .noPlace)
    }

    @Test("§5.3 rows 3 and 4: visible id is order_number, reference_id, id, and order id is id, order_number")
    func visibleID() {
        let cases = [
            (#""id":"i","order_number":"n","reference_id":"r""#, "i", "n"),
            (#""id":"i","reference_id":"r""#, "i", "r"), (#""id":"i""#, "i", "i"),
            (#""order_number":"n","reference_id":"r""#, "n", "n"), (#""reference_id":"r""#, "", "r"),
            (#""id":"","order_number":" n ""#, "n", "n"),
            (#""id":12,"order_number":9007199254740993"#, "12", "9007199254740993"),
            (#""id":true,"order_number":["n"],"reference_id":{"r":1}"#, "", ""), (#""id":1.0"#, "1", "1"),
        ]
        for (members, orderID, visibleID) in cases {
            let result = extract(#"{"event_type":"ORDER_CREATED","place_id":"p1","order":{\#(members)}}"#)
            #expect(result.payload?.orderID == orderID)
            #expect(result.payload?.visibleID == visibleID)
            #expect(result.notifications.first?.isDegraded == orderID.isEmpty)
        }
    }

    @Test("§5.3 row 5: an order id need not be a UUID")
    func anyOrderID() {
        let result = extract(
            #"{"event_type":"ORDER_CREATED","place_id":"p1","order":{"id":"Bestellung Nr. 5/7 \"é\""}}"#)
        #expect(result.payload?.orderID == "Bestellung Nr. 5/7 \"é\"")
        #expect(result.notifications.first?.orderID == "Bestellung Nr. 5/7 \"é\"")
    }

    @Test("§5.3 row 6: the parent is order.parent_order_id, else the order itself")
    func parent() {
        #expect(extract(created(#""parent_order_id":"x""#)).payload?.parentOrderID == "x")
        #expect(extract(created(#""parent_order_id":null"#)).payload?.parentOrderID == "o1")
        #expect(extract(created("")).payload?.parentOrderID == "o1")
    }

    @Test("§5.3 row 7: the new status is the event's, else the order's, else there is a dead letter")
    func newStatus() {
        #expect(
            extract(changed(#""new_status":"picked""#, order: #""status":"failed""#)).payload?.statusChange?.new
                == "picked")
        #expect(extract(changed("", order: #""status":"failed""#)).payload?.statusChange?.new == "failed")
        #expect(extract(changed(#""new_status":" ""#, order: #""status":null"#)).code == .missingStatus)
        #expect(extract(changed("")).deadLetter?.message.contains("\"o1\"") == true)
    }

    @Test("§5.3 row 7: the previous status is the event's, else unknown")
    func previousStatus() {
        let status = extract(changed(#""new_status":"picked","previous_status":"picking""#)).payload?.statusChange
        #expect(status == .init(previous: "picking", new: "picked", orderNumber: "o1"))
        #expect(extract(changed(#""new_status":"picked""#)).payload?.statusChange?.previous == "unknown")
        #expect(
            extract(changed(#""new_status":"picked","previous_status":"""#)).payload?.statusChange?.previous
                == "unknown")
    }

    @Test("§5.3 row 7: order_number is the visible id")
    func orderNumber() {
        let order = #""order_number":"n","reference_id":"r""#
        #expect(extract(changed(#""new_status":"picked""#, order: order)).payload?.statusChange?.orderNumber == "n")
        let other = #""reference_id":"r""#
        #expect(extract(changed(#""new_status":"picked""#, order: other)).payload?.statusChange?.orderNumber == "r")
    }

    @Test("§5.3 row 7: an unknown status passes and is counted; the ten of the document are not")
    func unknownStatus() {
        let odd = extract(changed(#""new_status":"teleported","previous_status":"picked""#))
        #expect(odd.payload?.statusChange?.new == "teleported")
        #expect(odd.notes.unknownStatuses == 1)
        #expect(extract(changed(#""new_status":"picked","previous_status":"PICKING""#)).notes.unknownStatuses == 1)
        for status in [
            "pending", "processing", "picking", "picked", "retrieving", "shipped", "collected", "completed",
            "cancelled",
            "failed",
        ] {
            #expect(extract(changed(#""new_status":"\#(status)""#)).notes.unknownStatuses == 0)
        }
    }

    @Test("§5.3 row 7: the same status twice is not a transition")
    func notATransition() {
        #expect(extract(changed(#""new_status":"picked","previous_status":" picked ""#)).reason == .notATransition)
        #expect(
            extract(changed(#""previous_status":"picked""#, order: #""status":"picked""#)).reason == .notATransition)
        #expect(extract(changed(#""new_status":"unknown""#)).notifications.count == 1)
    }

    @Test("§5.3 row 7: other events have no status, and need none")
    func noStatus() {
        let result = extract(created(#""status":"picked""#, event: #""previous_status":"picked""#))
        #expect(result.payload != nil)
        #expect(result.payload?.statusChange == nil)
    }

    @Test(
        "§5.3 row 10: the document's names in upper case, as event_*, or dotted with a version",
        arguments: [
            "ORDER_CREATED", "event_order_created", "order_created", "EVENT_ORDER_CREATED", "order.created",
            "com.example.order.created", "com.example.orders.order_created.v1", "Order.Created.v12", " ORDER_CREATED ",
            "shop.event_order_created", "order.created.V2",
        ])
    func names(_ name: String) {
        let result = extract(#"{"event_type":"\#(name)","place_id":"p","order":{"id":"o"}}"#)
        #expect(result.notifications.first?.eventType == .known(.orderCreated))
        #expect(result.payload?.eventType == "event_order_created")
    }

    @Test("§5.3 row 8: every type of the document is emitted, ORDER_IDS_LISTED too")
    func types() {
        for (name, type) in [
            ("ORDER_CREATED", EventType.orderCreated), ("ORDER_STATUS_CHANGED", .orderStatusChanged),
            ("TIMESLOT_STARTED", .timeslotStarted), ("UNPICKED_ORDERS_REMINDER", .unpickedOrdersReminder),
            ("ORDER_IDS_LISTED", .orderIDsListed), ("orders.order.status.changed.v3", .orderStatusChanged),
        ] {
            let result = extract(#"{"event_type":"\#(name)","place_id":"p","new_status":"picked","order":{"id":"o"}}"#)
            #expect(result.notifications.first?.eventType == .known(type))
            #expect(result.payload?.eventType == type.rawValue)
            #expect(Array(type.name) == Array(type.rawValue.utf8))
        }
    }

    @Test(
        "an unknown type is a dead letter that quotes it",
        arguments: [
            "ORDER_EXPLODED", "REORDER_CREATED", "com.example.reorder.created", "ORDER_CREATED_V1", "order.created.v",
            "order.created.v1.v2", "NOT_ORDER_CREATED", "ORDER_CREATED.x", "order-created", ".v1", ".", "event_",
            "order.createdé",
        ])
    func unknownType(_ name: String) {
        let result = extract(#"{"event_type":"\#(name)","place_id":"p","order":{"id":"o"}}"#)
        #expect(result.code == .unknownType)
        #expect(result.deadLetter?.message.contains("\"\(name)\"") == true)
    }

    @Test("an event without a type is a dead letter", arguments: ["null", #""""#, "true", "{}"])
    func noType(_ json: String) {
        #expect(extract(#"{"event_type":\#(json),"place_id":"p","order":{"id":"o"}}"#).code == .unknownType)
    }

    @Test("§5.2: the event time is occurred_at, else the record's timestamp, else 0")
    func eventTime() {
        func time(_ occurredAt: String, timestamp: WallTime? = 77) -> WallTime? {
            var record = TestRecord(
                #"{"event_type":"ORDER_CREATED","place_id":"p","occurred_at":\#(occurredAt),"order":{"id":"o"}}"#)
            record.timestamp = timestamp
            return extract(record).notifications.first?.eventTime
        }
        #expect(time(#""2024-09-07T11:15:21Z""#) == 1_725_707_721_000)
        #expect(time(#""2024-09-07T13:15:21.250+02:00""#) == 1_725_707_721_250)
        #expect(time(#""2024-09-07T11:15:21.250""#) == 1_725_707_721_250)
        #expect(time("1725707721250") == 1_725_707_721_250)
        #expect(time("1725707721") == 1_725_707_721_000)
        for absent in [
            "null", #""""#, #""2024-09-07""#, #""11:15""#, #""2024-09-07T24:00:00Z""#, #""1969-12-31T23:59:59Z""#, "5",
        ] {
            #expect(time(absent) == 77)
        }
        #expect(time("null", timestamp: nil) == 0)
        #expect(time("null", timestamp: -1) == 0)
        #expect(time("null", timestamp: .distantFuture) == 0)
        #expect(time("null", timestamp: .distantPast) == 0)
    }

    @Test("§7: the order type is order_type, else type, where it is food or d2d in any case")
    func orderType() {
        let cases: [(String, OrderType?)] = [
            (#""order_type":"food""#, .food), (#""order_type":" D2D ""#, .d2d), (#""type":"Food""#, .food),
            (#""order_type":"d2d","type":"food""#, .d2d), (#""order_type":"pickup","type":"food""#, .food),
            (#""order_type":"pickup""#, nil), (#""order_type":1"#, nil), ("", nil),
        ]
        for (members, expected) in cases {
            #expect(extract(created(members)).notifications.first?.orderType == expected)
        }
    }

    @Test("docs/code.md §4: an event whose key is not its order id is counted")
    func keyMismatch() {
        #expect(extract(TestRecord(created(""), key: "o1")).notes.keyMismatches == 0)
        #expect(extract(TestRecord(created(""), key: "o2")).notes.keyMismatches == 1)
        #expect(extract(TestRecord(created(""), key: "o12")).notes.keyMismatches == 1)
        #expect(extract(TestRecord(created(""))).notes.keyMismatches == 1)
        let list = #"{"event_type":"ORDER_IDS_LISTED","place_id":"p1","order_ids":["a"]}"#
        #expect(extract(TestRecord(list, key: "p1")).notes.keyMismatches == 0)
    }

    @Test("§5.2: a member that occurs twice: the last one wins, on every level")
    func duplicates() {
        let result = extract(
            #"{"event_type":"x","order":{"id":"no"},"event_type":"ORDER_CREATED","order":{"id":"a","id":"b","place_id":"p","shipping_info":{"slot":{"start_time":"01:00"}},"shipping_info":{"slot":{"start_time":"02:00","start_time":"03:00"}}}}"#
        )
        #expect(result.payload?.orderID == "b")
        #expect(result.payload?.startTime == "03:00")
        #expect(extract(created(#""place_id":null"#)).code == .noPlace)
    }

    @Test("§5.2: text fields are trimmed; null, blank, booleans and structures are missing")
    func texts() {
        #expect(extract(created(#""order_number":"\t\u00a0\ufeff n \u2003\n""#)).payload?.visibleID == "n")
        for missing in ["null", #""""#, #"" \u3000 ""#, "true", "false", "[]", "{}"] {
            #expect(extract(created(#""order_number":\#(missing)"#)).payload?.visibleID == "o1")
        }
        #expect(extract(created(#""order_number":1e21"#)).payload?.visibleID == "1e+21")
    }

    @Test("an order that is null or missing is notified with fallbacks; any other order is a dead letter")
    func oddOrders() {
        #expect(
            extract(#"{"event_type":"ORDER_CREATED","place_id":"p","order":null}"#).notifications.first?.isDegraded
                == true)
        for order in ["[]", "\"o1\"", "7", "true"] {
            #expect(extract(#"{"event_type":"ORDER_CREATED","place_id":"p","order":\#(order)}"#).code == .notAnEvent)
        }
    }

    @Test("a payload over 4,096 bytes is a dead letter that gives the size, and the batch is unchanged")
    func payloadTooLarge() {
        let long = String(repeating: "x", count: 3_900)
        #expect(extract(created(#""reference_id":"\#(long)""#)).code == .payloadTooLarge)
        #expect(
            extract(created(#""order_number":"\#(String(repeating: "\\\"", count: 2_500))""#)).code == .payloadTooLarge)
        let result = extract(created(#""reference_id":"\#(String(repeating: "x", count: 1_000_000))""#))
        #expect(result.code == .payloadTooLarge)
        #expect(result.deadLetter?.message.contains("4096") == true)
    }

    @Test("a dead letter's message quotes at most 64 bytes, and no control characters")
    func quotes() {
        let name = "\u{1B}[31m\u{202E}" + String(repeating: "é", count: 1000)
        var record = TestRecord("{}")
        record.headers = [("ce_type", Array(name.utf8))]
        let message = extract(record).deadLetter?.message ?? ""
        #expect(message.utf8.count < 250)
        #expect(!message.contains("\u{1B}") && !message.contains("\u{202E}"))
        #expect(message.contains("<U+1B>"))
    }
}
