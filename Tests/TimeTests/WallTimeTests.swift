import Foundation
import Testing
import Time

@Suite("Instants")
struct WallTimeTests {
    @Test("text is ISO 8601 in UTC, before 1970 and on leap days, too")
    func text() {
        #expect(WallTime.epoch.iso8601 == "1970-01-01T00:00:00.000Z")
        #expect(WallTime(milliseconds: -1).iso8601 == "1969-12-31T23:59:59.999Z")
        #expect(WallTime(milliseconds: 1_709_208_000_042).iso8601 == "2024-02-29T12:00:00.042Z")
        #expect(WallTime(milliseconds: 253_402_300_799_999).iso8601 == "9999-12-31T23:59:59.999Z")
    }

    @Test("a time outside the years 1 to 9999 is written as its number, whatever it is")
    func outside() {
        #expect(WallTime(milliseconds: 253_402_300_800_000).iso8601 == "253402300800000 ms since 1970")
        #expect(WallTime.distantFuture.iso8601 == "9223372036854775807 ms since 1970")
        #expect(WallTime.distantPast.iso8601 == "-9223372036854775808 ms since 1970")
    }

    @Test("in JSON it is its text")
    func json() throws {
        let encoded = try JSONEncoder().encode([WallTime.epoch])
        #expect(String(decoding: encoded, as: UTF8.self) == #"["1970-01-01T00:00:00.000Z"]"#)
    }

    @Test("sums and differences stop at the ends")
    func saturation() {
        #expect(WallTime(milliseconds: 5) + 3 - 10 == WallTime(milliseconds: -2))
        #expect(WallTime(milliseconds: 5) - WallTime(milliseconds: 7) == -2)
        #expect(WallTime.distantFuture + 1 == .distantFuture)
        #expect(WallTime.distantFuture - -1 == .distantFuture)
        #expect(WallTime.distantPast - 1 == .distantPast)
        #expect(WallTime.distantPast + -1 == .distantPast)
        #expect(WallTime.distantPast - WallTime(milliseconds: 1) == .min)
        #expect(WallTime.distantFuture - WallTime(milliseconds: -1) == .max)
    }
}
