import Testing

@testable import Notifications

@Suite("§5.3 row 9: ORDER_IDS_LISTED")
struct OrderListTests {
    private func list(_ members: String) -> TestResult {
        extract(#"{"event_type":"ORDER_IDS_LISTED","occurred_at":"2025-07-07T10:00:00Z","place_id":"p1",\#(members)}"#)
    }

    @Test("§5.3 row 9: one notification an id, texts and numbers, each with its own message id")
    func ids() throws {
        let result = list(#""order_ids":["a",12," b ",9007199254740993]"#)
        #expect(result.notifications.map(\.orderID) == ["a", "12", "b", "9007199254740993"])
        #expect(Set(result.notifications.map(\.messageID)).count == 4)
        for notification in result.notifications {
            #expect(notification.payload.visibleID == notification.orderID)
            #expect(notification.payload.parentOrderID == notification.orderID)
            #expect(notification.payload.placeID == "p1")
            #expect(notification.payload.statusChange == nil)
            #expect(notification.sources == FieldSources(timeSlot: .fallback, date: .fallback, orderID: .event))
            try notification.payload.validate()
        }
    }

    @Test("§5.3 row 9: equal ids in one event collapse to one, as text or number, listed or in an order")
    func collapse() {
        let result = list(
            #""order_ids":["a","1",1," a ",1.0,"b"],"orders":[{"id":"b","order_number":"n"},{"id":"b"}],"order":{"id":"a"}"#
        )
        #expect(result.notifications.map(\.orderID) == ["b", "a", "1"])
        #expect(result.notifications[0].payload.visibleID == "n")
    }

    @Test("§5.3 row 9: equal ids collapse in a long list too, and ids of one event are not remembered for the next")
    func collapseMany() {
        let ids = (0..<3000).map { "\"id-\($0 % 1000)\"" }.joined(separator: ",")
        let record = TestRecord(#"{"event_type":"ORDER_IDS_LISTED","place_id":"p1","order_ids":[\#(ids)]}"#)
        let results = extract([record, record])
        for result in results {
            #expect(result.notifications.map(\.orderID) == (0..<1000).map { "id-\($0)" })
        }
    }

    @Test("§5.3 row 9: orders have their own fields, and entries of either kind may be mixed")
    func orders() {
        let result = list(
            #""orders":[{"id":"a","order_number":"n","shipping_info":{"slot":{"date":"2025-08-01","start_time":"1:00"}}},"b",3]"#
        )
        #expect(result.notifications.map(\.orderID) == ["a", "b", "3"])
        #expect(result.notifications[0].payload.visibleID == "n")
        #expect(result.notifications[0].payload.deliveryDate == "2025-08-01")
        #expect(result.notifications[0].payload.startTime == "01:00")
        #expect(result.notifications[0].sources == FieldSources(timeSlot: .slot, date: .slot, orderID: .order))
    }

    @Test("§5.3 row 9: a single order is a list of one")
    func oneOrder() {
        #expect(list(#""order":{"order_number":"n"}"#).notifications.map(\.orderID) == ["n"])
        #expect(
            extract(#"{"event_type":"ORDER_IDS_LISTED","place_id":"p1","id":"x"}"#).notifications.map(\.orderID) == [
                "x"
            ])
    }

    @Test(
        "§5.3 row 9: bare ids use the event's own slot and date",
        arguments: [
            #""slot":{"date":"2025-08-01","start_time":"14:00","end_time":"16:00"}"#,
            #""shipping_info":{"slot":{"date":"2025-08-01","start_time":"14:00","end_time":"16:00"}}"#,
            #""delivery_date":"2025-08-01","start_time":"14:00","end_time":"4 PM""#,
            #""metadata":{"delivery_slot_start":"2025-08-01T14:00Z","delivery_slot_end":"2025-08-01T16:00Z"}"#,
            #""order_date":"2025-08-01","shipping_info":{"pickup_details":{"time_slot":"2-4 PM"}}"#,
        ])
    func eventSlot(_ members: String) {
        let result = list(#""order_ids":["a","b"],\#(members)"#)
        #expect(result.notifications.count == 2)
        for notification in result.notifications {
            #expect(notification.payload.startTime == "14:00")
            #expect(notification.payload.endTime == "16:00")
            #expect(notification.payload.deliveryDate == "2025-08-01")
            #expect(notification.sources == FieldSources(timeSlot: .event, date: .event, orderID: .event))
        }
    }

    @Test("an order of the list without a slot or date uses the event's")
    func ordersCompleted() {
        let result = list(
            #""slot":{"date":"2025-08-01","start_time":"14:00"},"orders":[{"id":"a","order_date":"2025-09-01"},{"id":"b"}]"#
        )
        #expect(result.notifications.map(\.payload.deliveryDate) == ["2025-09-01", "2025-08-01"])
        #expect(result.notifications.map(\.payload.startTime) == ["14:00", "14:00"])
        #expect(result.notifications.map(\.sources.date) == [.order, .event])
    }

    @Test("§5.3 row 9: without a slot of the event bare ids have the fallbacks")
    func fallbacks() {
        let result = list(#""order_ids":["a"]"#)
        #expect(result.slot == ["00:00", "23:59"])
        #expect(result.payload?.deliveryDate == "2025-07-07")
    }

    @Test(
        "a list without ids notifies nobody, and this is the reason given",
        arguments: [
            #""order_ids":[]"#, #""orders":[]"#, #""order_ids":null"#, #""order_ids":["",null," ",true,{},[]]"#,
            #""x":1"#,
            #""order":null"#,
        ])
    func noIDs(_ members: String) {
        #expect(list(members).reason == .noOrderIDs)
    }

    @Test("entries that are not ids are counted and skipped")
    func ignored() {
        let result = list(#""order_ids":["a","",null,{"id":"x"},true,"b"],"orders":[[],null]"#)
        #expect(result.notifications.map(\.orderID) == ["a", "b"])
        #expect(result.notes.ignoredOrderIDs == 6)
    }

    @Test(
        "a list that is not an array is a dead letter",
        arguments: [#""order_ids":"a""#, #""orders":{"id":"a"}"#, #""order":"a""#])
    func noArray(_ members: String) {
        #expect(list(members).code == .notAnEvent)
    }

    @Test("§5.3 row 2: the event's place goes before an order's; one order without a place is a dead letter for all")
    func place() {
        let own = extract(
            #"{"event_type":"ORDER_IDS_LISTED","orders":[{"id":"a","place_id":"x"},{"id":"b","place":{"id":"y"}}]}"#)
        #expect(own.notifications.map(\.placeID) == ["x", "y"])
        #expect(list(#""orders":[{"id":"a","place_id":"x"}]"#).notifications.map(\.placeID) == ["p1"])
        #expect(
            extract(#"{"event_type":"ORDER_IDS_LISTED","orders":[{"id":"a","place_id":"x"},{"id":"b"}]}"#).code
                == .noPlace)
        #expect(extract(#"{"event_type":"ORDER_IDS_LISTED","order_ids":["a"]}"#).code == .noPlace)
    }

    @Test("an order of the list without an id is degraded, once")
    func degraded() {
        let result = list(#""orders":[{"reference_id":"r"},{}]"#)
        #expect(result.notifications.map(\.orderID) == [""])
        #expect(result.notifications.first?.isDegraded == true)
    }

    @Test("more than 10,000 orders are a dead letter; 10,000 are not")
    func limit() {
        let ids = (0..<EventLimits.maxNotifications).map(String.init).joined(separator: ",")
        #expect(list(#""order_ids":[\#(ids)]"#).notifications.count == EventLimits.maxNotifications)
        #expect(list(#""order_ids":[\#(ids),"x"]"#).code == .tooManyOrderIDs)
        #expect(list(#""order_ids":[\#(ids),0]"#).notifications.count == EventLimits.maxNotifications)
    }
}
