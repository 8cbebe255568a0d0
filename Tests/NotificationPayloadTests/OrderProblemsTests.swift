import NotificationPayload
import Testing

@Suite("Document 1's validator names every problem at once")
struct OrderProblemsTests {
    private let flat = [
        "message_id": "msg-0-y11n5dk7h", "order_id": "o", "parent_order_id": "p", "event_type": "event_order_created",
        "delivery_date": "2025-07-07", "start_time": "14:00", "end_time": "16:00", "place_id": "x",
    ]

    @Test("a valid payload has none")
    func none() {
        #expect(OrderPayload.problems(in: flat).isEmpty)
    }

    @Test("an empty payload has one for each of the eight required fields, in the document's order")
    func empty() throws {
        let problems = try OrderPayload(data: [:]).problems
        #expect(
            problems.map(\.field) == [
                "message_id", "order_id", "parent_order_id", "event_type", "delivery_date", "start_time", "end_time",
                "place_id",
            ])
        #expect(!problems.contains { !$0.found.isEmpty })
    }

    @Test("§5.3 row 11: each problem says what was found and what is allowed")
    func values() throws {
        var wrong = flat
        wrong["place_id"] = ""
        wrong["delivery_date"] = "2025-13-45"
        wrong["start_time"] = "25:99"
        wrong["end_time"] = "4 PM"
        #expect(
            OrderPayload.problems(in: wrong).map(\.description) == [
                "delivery_date is \"2025-13-45\"; it must be a day of the calendar as YYYY-MM-DD",
                "start_time is \"25:99\"; it must be HH:MM from 00:00 to 23:59",
                "end_time is \"4 PM\"; it must be HH:MM from 00:00 to 23:59",
                "place_id is missing; it must be a text of one character or more",
            ])
    }

    @Test("a payload that cannot be read is one problem, of default")
    func unreadable() {
        let problems = OrderPayload.problems(in: flat.merging(["default": "{"]) { $1 })
        #expect(problems.map(\.field) == ["default"])
        #expect(problems.first?.found == "{")
    }

    @Test("validate throws the first kind of problem, and nothing where there is none")
    func validate() throws {
        for date in ["2025-07-07", "", "2025-02-30"] {
            for time in ["14:00", "", "24:00"] {
                let payload = try OrderPayload(data: flat.merging(["delivery_date": date, "end_time": time]) { $1 })
                let expected: OrderPayloadError? =
                    switch (date, time) {
                    case ("", ""): .missingFields(["delivery_date", "end_time"])
                    case ("", _): .missingFields(["delivery_date"])
                    case (_, ""): .missingFields(["end_time"])
                    case ("2025-02-30", _): .invalidDate(date)
                    case (_, "24:00"): .invalidTime(time)
                    case (_, _): nil
                    }
                if let expected {
                    #expect(throws: expected) { try payload.validate() }
                } else {
                    try payload.validate()
                }
                #expect(payload.problems.isEmpty == (expected == nil))
            }
        }
    }
}
