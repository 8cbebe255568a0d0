import Testing

@testable import Notifications

@Suite("§5.2: times and dates")
struct MomentTests {
    private func start(_ json: String, zone: String = "UTC") throws -> String? {
        let result = extract(created(start: json, end: "null"), rules: try ExtractionRules(timeZone: zone))
        let payload = try #require(result.payload)
        return result.sources?.timeSlot == .slot ? payload.startTime : nil
    }

    private func end(_ json: String) throws -> String? {
        let result = extract(created(start: "null", end: json))
        let payload = try #require(result.payload)
        return result.sources?.timeSlot == .slot ? payload.endTime : nil
    }

    private func date(_ json: String, zone: String = "UTC") throws -> String? {
        let result = extract(created(#""order_date":\#(json)"#), rules: try ExtractionRules(timeZone: zone))
        let payload = try #require(result.payload)
        return result.sources?.date == .order ? payload.deliveryDate : nil
    }

    @Test(
        "§5.2 Time: H:MM with seconds and a fraction is padded to HH:MM",
        arguments: [
            ("14:00", "14:00"), ("2:05", "02:05"), ("02:05", "02:05"), ("0:00", "00:00"), ("23:59", "23:59"),
            ("14:00:59", "14:00"), ("14:00:59.999", "14:00"), ("14:00:00.1", "14:00"), ("  14:00 ", "14:00"),
            ("\u{A0}14:00\u{3000}", "14:00"),
        ])
    func clockTimes(_ text: String, _ expected: String) throws {
        #expect(try start(#""\#(text)""#) == expected)
    }

    @Test(
        "§5.2 Time: h[:mm] AM|PM, with dots, with a space or without; 12 AM is 00, 12 PM is 12",
        arguments: [
            ("2 PM", "14:00"), ("2PM", "14:00"), ("2:30 pm", "14:30"), ("2:30 p.m.", "14:30"), ("02:30 P.M.", "14:30"),
            ("12 AM", "00:00"), ("12 PM", "12:00"), ("12:59 am", "00:59"), ("11:59PM", "23:59"), ("1 a.m.", "01:00"),
            ("1 am.", "01:00"),
        ])
    func meridiems(_ text: String, _ expected: String) throws {
        #expect(try start(#""\#(text)""#) == expected)
    }

    @Test(
        "§5.2 Time: anything else is absent, Arabic digits and signs included",
        arguments: [
            "25:00", "24:01", "14:60", "25:99", "14", "1400", "14:5", "14:000", "14:00:60", "14:00:5", "14:00:00.",
            "13 PM",
            "0 PM", "0:30 AM", "2:60 PM", "2:00:00 PM", "٠١:٣٠", "+1:30", "-1:30", "14h00", "14.00", "noon", "", " ",
            "T14:00",
            "14:00Z", "14:00 +0200", "2 XM", "2 P", "2 P.M.X", "24:00:01", "2025-07-07", "123:00", "14 :00",
        ])
    func noTimes(_ text: String) throws {
        #expect(try start(#""\#(text)""#) == nil)
        #expect(try end(#""\#(text)""#) == nil)
    }

    @Test("§5.2 Time: no other JSON value is a time", arguments: ["null", "true", "14", "1400", "-1", "[]", "{}"])
    func otherValues(_ json: String) throws {
        #expect(try start(json) == nil)
    }

    @Test(
        "§5.2 Time, §5.1: 24:00 is an end and becomes 23:59, and never a start",
        arguments: [
            "24:00", "24:00:00", "24:00:00.000", "2025-07-07T24:00", "2025-07-07T24:00:00Z",
        ])
    func endOfDay(_ text: String) throws {
        #expect(try end(#""\#(text)""#) == "23:59")
        #expect(try start(#""\#(text)""#) == nil)
        #expect(try date(#""\#(text)""#) == nil)
    }

    @Test(
        "§5.2 Time: an epoch counts seconds from 10^9 and milliseconds from 10^11, as number or as 10 or 13 digits",
        arguments: [
            ("1751896800", "14:00"), ("1751896800000", "14:00"), (#""1751896800""#, "14:00"),
            (#""1751896800000""#, "14:00"), ("1751896800.5", "14:00"), ("1751896800000.0", "14:00"),
            ("1000000000", "01:46"), ("100000000000", "09:46"),
        ])
    func epochs(_ json: String, _ expected: String) throws {
        #expect(try start(json) == expected)
    }

    @Test(
        "§5.2 Time: a number too small or too large for an epoch is absent",
        arguments: [
            "999999999", "253402300800000", "18446744073709551615", "-1751896800", #""0999999999""#,
            #""175189680000""#, #""17518968000""#, #""99999999999999""#, "1e300", "999999999.9", "1e15",
            #""٠٧٥١٨٩٦٨٠٠""#,
        ])
    func noEpochs(_ json: String) throws {
        #expect(try start(json) == nil)
        #expect(try date(json) == nil)
    }

    @Test(
        "§5.2, §5.1: a value with an offset is converted to the zone",
        arguments: [
            ("2025-07-07T14:00:00.000+0000", "16:00"), ("2025-07-07T14:00:00+0200", "14:00"),
            ("2025-07-07T14:00:00+02:00", "14:00"), ("2025-07-07T14:00:00+02", "14:00"),
            ("2025-07-07T12:00:00.123456Z", "14:00"), ("2025-07-07 12:00Z", "14:00"), ("2025-07-07T12:00z", "14:00"),
            ("2025-07-07t12:00:00Z", "14:00"), ("2025-07-07 07:00:00 -0500", "14:00"),
            ("2025-07-07T17:30:00+05:30", "14:00"), ("2025-01-07T13:00:00Z", "14:00"),
        ])
    func converted(_ text: String, _ expected: String) throws {
        #expect(try start(#""\#(text)""#, zone: "Europe/Berlin") == expected)
    }

    @Test(
        "§5.2: a value without an offset is the wall clock as it stands",
        arguments: [
            "2025-07-07T14:00", "2025-07-07 14:00", "2025-07-07T14:00:30", "2025-07-07T14:00:30.5", "14:00", "2 PM",
        ])
    func literal(_ text: String) throws {
        #expect(try start(#""\#(text)""#, zone: "Asia/Tokyo") == "14:00")
    }

    @Test(
        "§5.1, §5.2: a datetime that is none is absent and does not roll over",
        arguments: [
            "2025-02-30T10:00:00Z", "2025-02-30", "2025-13-01", "2025-13-01T10:00Z", "2025-00-10", "2025-01-00",
            "2025-07-07T25:00:00Z", "2025-07-07T10:00:60Z", "2025-07-07T10:60:00Z", "2025-07-07T10", "2025-07-07T",
            "2025-07-07T10:00:00+24:00", "2025-07-07T10:00:00+02:60", "2025-07-07T10:00:00+0", "2025-07-07T10:00:00ZZ",
            "2025-07-07T10:00:00.Z", "2025-07-07T1:00:00Z", "٢٠٢٥-٠٧-٠٧", "2025-7-7", "0000-01-01", "20250707",
            "2025-07",
            "2025-07-07X", "2025-07-07T24:00:01", "2025-07-07T10:00:00  Z", "2023-02-29", "1900-02-29", "2025-04-31",
            "+2025-07-07", "2025-07-07T10:00:00Z and much more text than any date or time would ever have",
        ])
    func noMoments(_ text: String) throws {
        #expect(try start(#""\#(text)""#) == nil)
        #expect(try date(#""\#(text)""#) == nil)
    }

    @Test(
        "§5.2 Date: a calendar date, a datetime or an epoch",
        arguments: [
            ("\"2025-07-07\"", "2025-07-07"), ("\" 2025-07-07 \"", "2025-07-07"), ("\"2024-02-29\"", "2024-02-29"),
            ("\"2000-02-29\"", "2000-02-29"), ("\"0001-01-01\"", "0001-01-01"), ("\"9999-12-31\"", "9999-12-31"),
            ("\"2025-07-07T23:59\"", "2025-07-07"), ("\"2025-07-07T23:30:00Z\"", "2025-07-07"),
            ("1751896800000", "2025-07-07"), ("\"1751896800\"", "2025-07-07"), ("253402300799999", "9999-12-31"),
            ("\"1969-12-31T23:00:00Z\"", "1969-12-31"), ("\"1582-10-15T00:00:00Z\"", "1582-10-15"),
        ])
    func dates(_ json: String, _ expected: String) throws {
        #expect(try date(json) == expected)
    }

    @Test("§5.2 Date: a time alone is no date")
    func timeIsNoDate() throws {
        #expect(try date("\"14:00\"") == nil)
    }

    @Test(
        "§5.2 Date: 07/07/2025 is ambiguous, absent and counted",
        arguments: ["07/07/2025", "7/7/25", "7.7.2025", "07-07-2025", " 07/07/2025 14:00 "])
    func ambiguous(_ text: String) {
        let result = extract(created(#""order_date":"\#(text)""#))
        #expect(result.sources?.date == .fallback)
        #expect(result.notes.ambiguousDates == 1)
    }

    @Test(
        "§5.2 Date: what is no date at all is not counted as ambiguous",
        arguments: ["x", "2025-13-01", "7/7", "14:00", ""])
    func notAmbiguous(_ text: String) {
        #expect(extract(created(#""order_date":"\#(text)""#)).notes.ambiguousDates == 0)
    }

    @Test("§5.3 row 18: a date near midnight is converted to the zone first")
    func nearMidnight() throws {
        #expect(try date("\"2025-07-07T23:30:00Z\"", zone: "Europe/Berlin") == "2025-07-08")
        #expect(try date("\"2025-07-08T01:30:00Z\"", zone: "America/New_York") == "2025-07-07")
        #expect(try date("\"2025-07-07T23:30:00\"", zone: "Europe/Berlin") == "2025-07-07")
    }

    @Test("a date that its zone moves out of years 1 to 9999 is absent")
    func outOfYears() throws {
        #expect(try date("\"9999-12-31T23:30:00Z\"", zone: "Europe/Berlin") == nil)
        #expect(try date("\"0001-01-01T00:30:00Z\"", zone: "America/New_York") == nil)
        #expect(try date("\"0001-01-01T00:00:00+14:00\"") == nil)
    }
}
