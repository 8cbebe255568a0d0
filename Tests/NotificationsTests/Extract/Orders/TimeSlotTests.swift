import Testing

@testable import Notifications

@Suite("§5.2: time slots")
struct TimeSlotTests {
    private func drone(_ json: String) -> [String]? {
        let result = extract(created(#""shipping_info":{"pickup_details":{"time_slot":\#(json)}}"#))
        return result.sources?.timeSlot == .drone ? result.slot : nil
    }

    @Test(
        "§5.2 time_slot: two times separated by a hyphen, a dash, a slash or to",
        arguments: [
            "14:00-16:00", "14:00 - 16:00", "14:00–16:00", "14:00 — 16:00", "14:00 to 16:00", "14:00 TO 16:00",
            "14:00/16:00", "2 PM - 4 PM", "2PM-4PM", "2-4 PM", "2 to 4 p.m.", "2:00–4 PM", "2pm/16:00", "14:00-4 PM",
            "2025-07-07T14:00 - 2025-07-07T16:00", "2025-07-07T14:00:00Z/2025-07-07T16:00:00Z",
            "2025-07-07T14:00:00+00:00-2025-07-07T16:00:00-00:00", " 14:00-16:00 ", "14:00to16:00",
        ])
    func texts(_ text: String) {
        #expect(drone(#""\#(text)""#) == ["14:00", "16:00"])
    }

    @Test(
        "§5.2 time_slot: 2-4 PM shares the meridiem, and the start flips if it would exceed the end",
        arguments: [
            ("10-12 PM", "10:00", "12:00"), ("11-1 PM", "11:00", "13:00"), ("12-2 PM", "12:00", "14:00"),
            ("8-10 AM", "08:00", "10:00"), ("10:30-12 PM", "10:30", "12:00"), ("9-12 AM", "21:00", "00:00"),
            ("2-2 PM", "14:00", "14:00"), ("12-1 AM", "00:00", "01:00"), ("2:30-4:15 pm", "14:30", "16:15"),
        ])
    func sharedMeridiem(_ text: String, _ start: String, _ end: String) {
        #expect(drone(#""\#(text)""#) == [start, end])
    }

    @Test("§5.2 time_slot: one time is the start only", arguments: ["14:00", "2 PM", "2025-07-07T14:00:00Z"])
    func oneTime(_ text: String) {
        #expect(drone(#""\#(text)""#) == ["14:00", "23:59"])
    }

    @Test(
        "§5.2 time_slot: objects and arrays",
        arguments: [
            #"{"start":"14:00","end":"16:00"}"#, #"{"start_time":"14:00","end_time":"4 PM"}"#,
            #"{"from":"14:00","to":"16:00"}"#, #"["14:00","16:00"]"#, "[1751896800,1751904000]",
            #"{"start":"x","end":null,"start_time":"14:00","end_time":"16:00"}"#,
            #"{"to":"16:00","other":1,"from":"2 PM"}"#,
        ])
    func structures(_ json: String) {
        #expect(drone(json) == ["14:00", "16:00"])
    }

    @Test(
        "§5.2 time_slot: a missing bound of an object or an array is 00:00 or 23:59",
        arguments: [
            (#"{"start":"14:00"}"#, ["14:00", "23:59"]), (#"{"end":"16:00","start":"x"}"#, ["00:00", "16:00"]),
            (#"["14:00"]"#, ["14:00", "23:59"]), (#"[null,"16:00"]"#, ["00:00", "16:00"]),
            ("1751896800", ["14:00", "23:59"]),
        ])
    func partialStructures(_ json: String, _ expected: [String]) {
        #expect(drone(json) == expected)
    }

    @Test(
        "§5.2 time_slot: anything else is absent",
        arguments: [
            #""""#, #""morning""#, #""2-4""#, #""14:00-25:00""#, #""-""#, #""14:00-16:00-18:00""#, #""2025-07-07""#,
            #""to""#, #""14:00-""#, "[]", #"["14:00","16:00","18:00"]"#, "{}", "true", "null", "5",
            #"{"start":{"at":"14:00"}}"#,
            #""13-14 PM""#, #""2 PM-4""#, #"["x"]"#,
        ])
    func absent(_ json: String) {
        #expect(drone(json) == nil)
    }

    @Test("a very long time_slot is absent")
    func long() {
        #expect(drone("\"" + String(repeating: "-", count: 500_000) + "\"") == nil)
        #expect(drone("\"" + String(repeating: "14:00-", count: 50_000) + "\"") == nil)
    }

    @Test("§5.2 Partial slots: the first source with one valid bound wins, and its other bound is 00:00 or 23:59")
    func partial() {
        let slot = #""slot":{"start_time":"14:00"}"#
        let metadata = #""metadata":{"delivery_slot_start":"2025-07-07T10:00","delivery_slot_end":"2025-07-07T12:00"}"#
        let result = extract(created(#""shipping_info":{\#(slot)},\#(metadata)"#))
        #expect(result.slot == ["14:00", "23:59"])
        #expect(result.sources?.timeSlot == .slot)
        let ending = extract(
            created(#""shipping_info":{"slot":{"start_time":"25:00","end_time":"16:00"}},\#(metadata)"#))
        #expect(ending.slot == ["00:00", "16:00"])
        #expect(ending.sources?.timeSlot == .slot)
    }

    @Test("document 1, Timeslot Extraction Priority: slot, Salesforce, Drone, 00:00 to 23:59")
    func priority() {
        let slot = #""slot":{"start_time":"01:00","end_time":"02:00"}"#
        let drone = #""pickup_details":{"time_slot":"05:00-06:00"}"#
        let salesforce =
            #""metadata":{"delivery_slot_start":"2025-07-07T03:00:00.000+0000","delivery_slot_end":"2025-07-07T04:00:00.000+0000"}"#
        let cases: [(String, [String], FieldSource)] = [
            (#""shipping_info":{\#(slot),\#(drone)},\#(salesforce)"#, ["01:00", "02:00"], .slot),
            (#""shipping_info":{\#(drone)},\#(salesforce)"#, ["03:00", "04:00"], .salesforce),
            (#""shipping_info":{\#(drone)},"metadata":{}"#, ["05:00", "06:00"], .drone),
            (#""shipping_info":{"pickup_details":null},"metadata":null"#, ["00:00", "23:59"], .fallback),
            ("", ["00:00", "23:59"], .fallback),
            (#""shipping_info":"x","metadata":[1]"#, ["00:00", "23:59"], .fallback),
        ]
        for (members, slot, source) in cases {
            let result = extract(created(members))
            #expect(result.slot == slot)
            #expect(result.sources?.timeSlot == source)
        }
    }

    @Test("§5.2: an invalid value is absent, and the next source is asked, not the fallback")
    func invalidIsAbsent() {
        let result = extract(
            created(
                #""shipping_info":{"slot":{"start_time":"25:99","end_time":"x","date":"2025-02-30"}},"metadata":{"delivery_slot_start":"2025-07-09T03:00"}"#
            ))
        #expect(result.slot == ["03:00", "23:59"])
        #expect(result.payload?.deliveryDate == "2025-07-09")
        #expect(result.sources == FieldSources(timeSlot: .salesforce, date: .salesforce, orderID: .order))
    }

    @Test("§5.2: a start behind the end stays, for a slot that crosses midnight")
    func midnight() {
        let result = extract(
            created(#""shipping_info":{"slot":{"date":"2025-07-07","start_time":"22:00","end_time":"02:00"}}"#))
        #expect(result.slot == ["22:00", "02:00"])
        #expect(result.payload?.deliveryDate == "2025-07-07")
    }

    @Test("document 1, Date Extraction Priority: slot, Salesforce, Drone, order date, current date")
    func datePriority() {
        let salesforce = #""metadata":{"delivery_slot_start":"2025-07-02T10:00:00Z"}"#
        let order = #""order_date":"2025-07-04""#
        let cases: [(String, String, FieldSource)] = [
            (
                #""shipping_info":{"slot":{"date":"2025-07-01","delivery_date":"2025-07-03"}},\#(salesforce),\#(order)"#,
                "2025-07-01", .slot
            ),
            (
                #""shipping_info":{"slot":{"delivery_date":"2025-07-03"}},\#(salesforce),\#(order)"#, "2025-07-02",
                .salesforce
            ),
            (#""shipping_info":{"slot":{"delivery_date":"2025-07-03"}},\#(order)"#, "2025-07-03", .drone),
            (order, "2025-07-04", .order),
            (#""order_date":"nonsense""#, "2025-07-07", .fallback),
            ("", "2025-07-07", .fallback),
        ]
        for (members, date, source) in cases {
            let result = extract(created(members))
            #expect(result.payload?.deliveryDate == date)
            #expect(result.sources?.date == source)
        }
    }

    @Test("§5.3 row 17: the chains of time and date are independent")
    func independent() {
        let result = extract(
            created(
                #""shipping_info":{"slot":{"delivery_date":"2025-07-03"},"pickup_details":{"time_slot":"9-11 AM"}}"#))
        #expect(result.sources == FieldSources(timeSlot: .drone, date: .drone, orderID: .order))
        #expect(result.slot == ["09:00", "11:00"])
        #expect(result.payload?.deliveryDate == "2025-07-03")
    }
}
