import NotificationPayload
import TestSupport
import Testing

@testable import Notifications

@Suite("§5.6: names by a mapping")
struct MappedNamesTests {
    private func rules(_ json: String) throws -> ExtractionRules {
        try ExtractionRules(timeZone: "Europe/Berlin", members: MemberMapping(json: Array(json.utf8)))
    }

    private func extract(_ json: String, _ mapping: String) throws -> TestResult {
        NotificationsTests.extract(json, rules: try rules(mapping))
    }

    /// A mapping of many names, as in the rules.
    private let shop = #"""
        {"order":["data.order"],"orders":["items"],"order_ids":["numbers"],"event_type":["kind"],"event_id":["key"],
        "occurred_at":["when"],"place_id":["branch"],"new_status":["status.to"],"previous_status":["status.from"],
        "slot":["window"],"start_time":["from"],"end_time":["until"],"delivery_date":["day"],
        "order.id":["orderId","order_no"],"order.order_number":["shown.number"],"order.reference_id":["ref"],
        "order.parent_order_id":["parentId"],"order.place_id":["store","place.code"],"order.status":["state"],
        "order.order_type":["kind"],"order.order_date":["day"],"order.shipping_info.slot.start_time":["delivery.from"],
        "order.shipping_info.slot.end_time":["delivery.to"],"order.shipping_info.slot.date":["delivery.day"],
        "order.shipping_info.pickup_details.time_slot":["drone.slot"],"order.shipping_info.place_id":["shipping_info.site"],
        "order.metadata.delivery_slot_start":["sf.start"],"order.metadata.delivery_slot_end":["sf.end"],
        "order.shipping_info.slot.delivery_date":["drone.day"],"order.type":["art"]}
        """#

    @Test("every member is found under its mapped name")
    func everyMember() throws {
        let result = try extract(
            #"""
            {"kind":"ORDER_STATUS_CHANGED","key":"k1","when":"2025-07-07T10:00:00Z","branch":"b1",
            "status":{"to":"picked","from":"pending"},"data":{"order":{"orderId":" o1 ","shown":{"number":17},
            "parentId":"p","kind":"Food","delivery":{"from":"14:00","to":"16:00","day":"2025-07-08"}}}}
            """#, shop)
        let known = NotificationsTests.extract(
            #"""
            {"event_type":"ORDER_STATUS_CHANGED","event_id":"k1","occurred_at":"2025-07-07T10:00:00Z","place_id":"b1",
            "new_status":"picked","previous_status":"pending","order":{"id":"o1","order_number":"17",
            "parent_order_id":"p","order_type":"food","shipping_info":{"slot":{"start_time":"14:00","end_time":"16:00",
            "date":"2025-07-08"}}}}
            """#)
        #expect(result.notifications.count == 1 && result.notifications[0].encoded == known.notifications[0].encoded)
        #expect(result.notifications[0].orderType == .food)
        #expect(result.sources == FieldSources(timeSlot: .slot, date: .slot, orderID: .order))
    }

    @Test(
        "each value of an order is found under its mapped name",
        arguments: [
            (#""order_no":5"#, "5", "5", "00:00", "2025-07-07"),
            (#""orderId":"a","ref":"r""#, "a", "r", "00:00", "2025-07-07"),
            (#""orderId":"a","sf":{"start":"2025-07-09T10:00:00Z","end":"13:00"}"#, "a", "a", "12:00", "2025-07-09"),
            (#""orderId":"a","drone":{"slot":"2-4 PM","day":"2025-07-10"}"#, "a", "a", "14:00", "2025-07-10"),
            (#""orderId":"a","day":"2025-07-11""#, "a", "a", "00:00", "2025-07-11"),
        ])
    func orderValues(_ members: String, _ id: String, _ visible: String, _ start: String, _ date: String) throws {
        let payload = try extract(
            #"{"kind":"ORDER_CREATED","when":"2025-07-07T10:00:00Z","store":"s","data":{"order":{"store":"s",\#(members)}}}"#,
            shop
        ).payload
        #expect(payload?.orderID == id && payload?.visibleID == visible && payload?.placeID == "s")
        #expect(payload?.startTime == start && payload?.deliveryDate == date)
    }

    @Test(
        "a place is the event's, then the order's in the order of its sources, each with its mapped names",
        arguments: [
            (#""place_id":"1","store":"2","place":{"code":"3","id":"4"},"shipping_info":{"place_id":"5"}"#, "1"),
            (#""store":"2","place":{"code":"3","id":"4"}"#, "2"),
            (#""store":null,"place":{"code":"3","id":"4"}"#, "3"),
            (#""place":{"id":"4"},"shipping_info":{"place_id":"5","site":"6"}"#, "4"),
            (#""shipping_info":{"place_id":"5","site":"6"}"#, "5"),
            (#""shipping_info":{"place_id":" ","site":"6"}"#, "6"),
        ])
    func places(_ members: String, _ place: String) throws {
        let order = #"{"id":"o",\#(members)}"#
        #expect(try extract(#"{"event_type":"ORDER_CREATED","order":\#(order)}"#, shop).payload?.placeID == place)
        let event = #"{"event_type":"ORDER_CREATED","branch":"0","order":\#(order)}"#
        #expect(try extract(event, shop).payload?.placeID == "0")
    }

    @Test(
        "the known name comes first, then the mapped ones in their order, and what is invalid is absent",
        arguments: [
            (#""id":"a","orderId":"b","order_no":"c""#, "a"), (#""order_no":"c","orderId":"b""#, "b"),
            (#""id":" ","orderId":"b""#, "b"), (#""id":{},"orderId":null,"order_no":"c""#, "c"),
            (#""id":[1],"orderId":true,"order_no":1.0"#, "1"), (#""orderId":"b","orderId":"c""#, "c"),
            (#""orderId":"b","orderId":null,"order_no":"d""#, "d"), (#""order_number":"n","order_no":"c""#, "c"),
        ])
    func order(_ members: String, _ id: String) throws {
        let json = #"{"event_type":"ORDER_CREATED","order":{"place_id":"p",\#(members)}}"#
        #expect(try extract(json, shop).payload?.orderID == id)
    }

    @Test(
        "an invalid time or date is absent too: the next name counts, and a bound of a name before it",
        arguments: [
            (#""shipping_info":{"slot":{"start_time":"25:00"}},"delivery":{"from":"9:00"}"#, "09:00", "23:59"),
            (
                #""shipping_info":{"slot":{"start_time":"8:00"}},"delivery":{"from":"9:00","to":"11:00"}"#, "08:00",
                "11:00"
            ),
            (#""delivery":{"from":"2025-07-08","to":"24:00"}"#, "00:00", "23:59"),
            (#""delivery":{"from":"x"},"sf":{"start":"7:00"}"#, "07:00", "23:59"),
            (
                #""shipping_info":{"pickup_details":{"time_slot":"x"}},"drone":{"slot":["1:00","2:00"]}"#, "01:00",
                "02:00"
            ),
        ])
    func times(_ members: String, _ start: String, _ end: String) throws {
        #expect(try extract(created(members), shop).slot == [start, end])
    }

    @Test("an ambiguous date under a mapped name is absent and counted")
    func ambiguous() throws {
        let result = try extract(created(#""delivery":{"day":"07/07/2025"},"day":"2025-07-12""#), shop)
        #expect(result.payload?.deliveryDate == "2025-07-12" && result.notes.ambiguousDates == 1)
    }

    @Test(
        "a body with a mapped order, orders or order_ids is the event; without one it is the order",
        arguments: [
            (#"{"kind":"ORDER_CREATED","data":{"order":{"orderId":"a","store":"s"}}}"#, ["a"]),
            (
                #"{"kind":"ORDER_IDS_LISTED","branch":"s","items":[{"orderId":"a"},"b"],"numbers":["c"]}"#,
                ["a", "b", "c"]
            ),
            (#"{"kind":"ORDER_IDS_LISTED","branch":"s","numbers":["c"]}"#, ["c"]),
            (#"{"kind":"ORDER_CREATED","orderId":"a","store":"s"}"#, ["a"]),
            (#"{"kind":"ORDER_IDS_LISTED","orderId":"a","store":"s"}"#, ["a"]),
            (#"{"kind":"ORDER_CREATED","orderId":"x","branch":"s","data":{"order":null}}"#, [""]),
            (#"{"kind":"ORDER_CREATED","order":null,"data":{"order":{"orderId":"a","store":"s"}}}"#, ["a"]),
            (#"{"kind":"ORDER_CREATED","order":"o","data":{"order":{"orderId":"a","store":"s"}}}"#, ["a"]),
            (#"{"kind":"ORDER_IDS_LISTED","branch":"s","orders":{},"items":["a"]}"#, ["a"]),
            (#"{"specversion":"1.0","data":{"order":{"id":"a"},"x":1},"kind":"ORDER_CREATED","branch":"s"}"#, ["a"]),
        ])
    func body(_ json: String, _ ids: [String]) throws {
        #expect(try extract(json, shop).notifications.map(\.orderID) == ids)
    }

    @Test("a mapped order that is no object, or list that is none, is a dead letter as with the known name")
    func containers() throws {
        let order = try extract(#"{"kind":"ORDER_CREATED","data":{"order":"x"}}"#, shop)
        #expect(order.deadLetter?.message.hasSuffix("order is not an object") == true)
        let list = try extract(#"{"kind":"ORDER_IDS_LISTED","branch":"s","items":{}}"#, shop)
        #expect(list.deadLetter?.message.hasSuffix("orders is not an array") == true)
        let ids = try extract(#"{"kind":"ORDER_IDS_LISTED","branch":"s","numbers":"a"}"#, shop)
        #expect(ids.deadLetter?.message.hasSuffix("order_ids is not an array") == true)
    }

    @Test("a list has its own slot, date and place under mapped names, also as an order has them")
    func listed() throws {
        func list(_ members: String) throws -> TestNotification? {
            try extract(
                #"{"kind":"ORDER_IDS_LISTED","branch":"s","when":"2025-07-07T10:00:00Z","numbers":["a"],\#(members)}"#,
                shop
            ).notifications.first
        }
        let plain = try list(#""from":"1:00","until":"2:00","start_time":"x","day":"2025-07-09""#)
        #expect(plain?.payload.startTime == "01:00" && plain?.payload.endTime == "02:00")
        // `day` is also the order's date, which is the event's own here.
        #expect(plain?.payload.deliveryDate == "2025-07-09" && plain?.sources.date == .event)
        let window = try list(#""slot":null,"window":{"start_time":"3:00","date":"2025-07-10"}"#)
        #expect(window?.payload.startTime == "03:00" && window?.payload.deliveryDate == "2025-07-10")
        let asOrder = try list(#""delivery":{"from":"4:00","day":"2025-07-11"}"#)
        #expect(asOrder?.payload.startTime == "04:00" && asOrder?.payload.deliveryDate == "2025-07-11")
    }

    @Test("an order has nothing of the order before it, of its list or of the event before it")
    func cleared() throws {
        let result = try extract(
            #"""
            {"kind":"ORDER_IDS_LISTED","shown":{"number":"of the list"},"delivery":{"from":"5:00"},"items":[
            {"orderId":"a","store":"s1","shown":{"number":"n"},"parentId":"p","delivery":{"from":"1:00"},"day":"2025-07-09"},
            {"orderId":"b","store":"s2"},{"store":"s3"}]}
            """#, shop)
        #expect(result.notifications.map(\.payload.visibleID) == ["n", "b", ""])
        #expect(result.notifications.map(\.payload.parentOrderID) == ["p", "b", ""])
        #expect(result.notifications.map(\.placeID) == ["s1", "s2", "s3"])
        #expect(result.notifications.map(\.payload.startTime) == ["01:00", "05:00", "05:00"])
        let full = TestRecord(
            #"{"kind":"ORDER_CREATED","key":"k","branch":"b","data":{"order":{"orderId":"a","ref":"r"}}}"#)
        let bare = TestRecord(#"{"event_type":"ORDER_CREATED","order":{}}"#)
        let after = NotificationsTests.extract([full, bare], rules: try rules(shop))
        #expect(after.map(\.code) == [nil, .noPlace] && after[0].payload?.visibleID == "r")
    }

    @Test("a notification knows which mapped names its values came from, and only those")
    func provenance() throws {
        let mapping = try MemberMapping(json: Array(shop.utf8))
        func names(_ json: String) throws -> [String] {
            try extract(json, shop).notifications.map { mapping.text(of: $0.mappedNames) }
        }
        #expect(
            try names(
                #"{"kind":"ORDER_CREATED","data":{"order":{"orderId":" ","order_no":7,"store":"s","delivery":{"from":"x","to":"9:00"}}}}"#
            ) == [
                "order=data.order,event_type=kind,order.id=order_no,order.place_id=store,"
                    + "order.shipping_info.slot.end_time=delivery.to"
            ])
        #expect(try names(created(#""orderId":"x","store":"y","ref":"r""#)) == ["order.reference_id=ref"])
        #expect(
            try names(
                #"{"event_type":"ORDER_IDS_LISTED","branch":"b","items":[{"orderId":"a","ref":"r"},{"id":"b"},"c"]}"#)
                == [
                    "orders=items,place_id=branch,order.id=orderId,order.reference_id=ref",
                    "orders=items,place_id=branch",
                    "orders=items,place_id=branch",
                ])
    }

    @Test("names that begin alike are told apart, and what is in an envelope is found")
    func similar() throws {
        let mapping = #"{"order.id":["delivery_number","delivery_numbed"],"order.place_id":["delivery_numbe"]}"#
        let order = #"{"delivery_numbers":"x","delivery_numbed":"b","delivery_numbe":"c"}"#
        let envelopes = [
            #"{"event_type":"ORDER_CREATED","order":\#(order)}"#,
            #"{"schema":{},"payload":{"event_type":"ORDER_CREATED","order":\#(order)}}"#,
            #"{"specversion":"1.0","type":"ORDER_CREATED","data":\#(order)}"#,
        ]
        for json in envelopes {
            let payload = try extract(json, mapping).payload
            #expect(payload?.orderID == "b" && payload?.placeID == "c")
        }
    }

    /// Known names, what stands for each in a renamed event, and their mapping.
    private static let renamed: (names: [(String, String)], mapping: String) = (
        [
            ("event_type", "kind"), ("event_id", "key"), ("occurred_at", "when"), ("order", "auftrag"),
            ("orders", "aufträge"), ("order_ids", "nummern"), ("place_id", "filiale"), ("new_status", "neu"),
            ("previous_status", "alt"), ("slot", "fenster"), ("delivery_date", "liefertag"), ("order_number", "nummer"),
            ("reference_id", "referenz"), ("parent_order_id", "eltern"), ("status", "zustand"), ("order_type", "art"),
            ("order_date", "tag"), ("start_time", "start time"), ("end_time", "ende"), ("date", "datum"),
            ("time_slot", "zeit"), ("delivery_slot_start", "delivery_slot_beginn"),
            ("delivery_slot_end", "delivery_slot_ende"), ("metadata", "angaben"), ("shipping_info", "versand"),
        ],
        #"""
        {"event_type":["kind"],"event_id":["key"],"occurred_at":["when"],"order":["auftrag"],"orders":["aufträge"],
        "order_ids":["nummern"],"place_id":["filiale"],"new_status":["neu"],"previous_status":["alt"],
        "slot":["fenster"],"delivery_date":["liefertag"],"order.order_number":["nummer"],
        "order.reference_id":["referenz"],"order.parent_order_id":["eltern"],"order.status":["zustand"],
        "order.order_type":["art"],"order.order_date":["tag"],"order.place_id":["filiale"],
        "order.shipping_info.place_id":["versand.filiale"],
        "order.shipping_info.slot.start_time":["versand.fenster.start time"],
        "order.shipping_info.slot.end_time":["versand.fenster.ende"],"order.shipping_info.slot.date":["versand.fenster.datum"],
        "order.shipping_info.slot.delivery_date":["versand.fenster.liefertag"],
        "order.shipping_info.pickup_details.time_slot":["versand.pickup_details.zeit"],
        "order.metadata.delivery_slot_start":["angaben.delivery_slot_beginn"],
        "order.metadata.delivery_slot_end":["angaben.delivery_slot_ende"]}
        """#
    )

    @Test("an event with other names gives what it gives with the known ones", arguments: [11, 12] as [UInt64])
    func renamedEvents(seed: UInt64) throws {
        var generator = EventGenerator(seed: seed)
        let records = (0..<1_500).map { _ in generator.event() }
        let others = records.map { record in
            var record = record
            var text = String(decoding: record.value ?? [], as: UTF8.self)
            for (name, other) in Self.renamed.names {
                text = text.replacing("\"\(name)\":", with: "\"\(other)\":")
                text = text.replacing("\\\"\(name)\\\":", with: "\\\"\(other)\\\":")
            }
            record.value = Array(text.utf8)
            return record
        }
        let mapped = try rules(Self.renamed.mapping)
        let (expected, found) = (
            NotificationsTests.extract(records, rules: mapped), NotificationsTests.extract(others, rules: mapped)
        )
        #expect(expected.contains { $0.notifications.count > 1 } && expected.contains { $0.deadLetter != nil })
        #expect(zip(records, others).filter { $0.value != $1.value }.count > 1_400)
        for (index, (one, other)) in zip(expected, found).enumerated() {
            let comment = "seed \(seed), event \(index)"
            #expect(one.notifications.map(\.encoded) == other.notifications.map(\.encoded), "\(comment)")
            #expect(one.notifications.map(\.sources) == other.notifications.map(\.sources), "\(comment)")
            #expect(one.deadLetter == other.deadLetter && one.reason == other.reason, "\(comment)")
            #expect(one.notes == other.notes, "\(comment)")
        }
        // With the known names the mapping changes nothing.
        let usual = NotificationsTests.extract(records, rules: try ExtractionRules(timeZone: "Europe/Berlin"))
        #expect(usual.map { $0.notifications.map(\.encoded) } == expected.map { $0.notifications.map(\.encoded) })
    }
}
