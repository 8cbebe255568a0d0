import Testing

@testable import Notifications

@Suite("The zones of places")
struct ExtractionRulesTests {
    @Test("unknown zones are one error that names all of them")
    func unknown() throws {
        let error = #expect(throws: UnknownTimeZones.self) {
            try ExtractionRules(
                timeZone: "Mars/Olympus", placeTimeZones: ["a": "Europe/Berlin", "b": "Europe/Berlim", "c": ""])
        }
        #expect(error == UnknownTimeZones(timeZone: "Mars/Olympus", placeTimeZones: ["b": "Europe/Berlim", "c": ""]))
        let text = try #require(error).description
        #expect(text.contains("Mars/Olympus") && text.contains("Europe/Berlim") && text.contains("place b"))
    }

    @Test("§5.2 Zone: a place has its own zone, another one the default")
    func places() throws {
        let rules = try ExtractionRules(
            timeZone: "Europe/Berlin",
            placeTimeZones: ["p1": "Asia/Tokyo", "p": "UTC", "p10": "America/New_York", "p1\u{E9}": "Asia/Kolkata"])
        for (place, time) in [
            ("p1", "21:00"), ("p", "12:00"), ("p10", "08:00"), ("p1é", "17:30"), ("p2", "14:00"), ("a", "14:00"),
            ("z", "14:00"), ("p100", "14:00"),
        ] {
            let json = """
                {"event_type":"ORDER_CREATED","place_id":"\(place)","occurred_at":"2025-07-07T20:00:00Z",\
                "order":{"id":"o","shipping_info":{"slot":{"start_time":"2025-07-07T12:00:00Z"}}}}
                """
            #expect(extract(json, rules: rules).payload?.startTime == time, "\(place)")
        }
    }

    @Test("§5.2: the current date is the event's time in the place's zone, not today")
    func currentDate() throws {
        let rules = try ExtractionRules(timeZone: "UTC", placeTimeZones: ["p1": "Asia/Tokyo"])
        let json =
            #"{"event_type":"ORDER_CREATED","occurred_at":"2025-07-07T20:00:00Z","order":{"id":"o","place_id":"p1"}}"#
        #expect(extract(json, rules: rules).payload?.deliveryDate == "2025-07-08")
        #expect(extract(json).payload?.deliveryDate == "2025-07-07")
    }

    @Test("the last hours of year 9999 have a date in every zone")
    func lastDay() throws {
        let rules = try ExtractionRules(timeZone: "Pacific/Kiritimati")
        let json =
            #"{"event_type":"ORDER_CREATED","occurred_at":"9999-12-31T23:59:59.999Z","order":{"id":"o","place_id":"p1"}}"#
        let result = extract(json, rules: rules)
        #expect(result.payload?.deliveryDate == "9999-12-31")
        #expect(result.notifications.first?.eventTime == 253_402_300_799_999)
    }
}
