import JSONReader
import Testing

@Suite("Numbers as JavaScript prints them")
struct JSONNumberTextTests {
    private func text(_ json: String) throws -> String? {
        var reader = JSONReader()
        let value = try Array(json.utf8).withUnsafeBytes { bytes in try reader.parse(bytes) }
        var buffer = [UInt8](repeating: 0, count: JSONNumberText.maxCount)
        let count = buffer.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { JSONNumberText.write(value, to: $0) }
        }
        return count.map { String(decoding: buffer.prefix($0), as: UTF8.self) }
    }

    @Test(
        "§5.2: integers print exactly, without rounding to 2^53",
        arguments: [
            "0", "7", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
            "18446744073709551615",
        ])
    func integers(_ json: String) throws {
        #expect(try text(json) == json)
    }

    /// The right-hand sides are what Node prints.
    @Test(
        "§5.1: 1.0 prints 1, and a large or small number has JavaScript's exponent",
        arguments: [
            ("-0", "0"), ("-0.0", "0"), ("1.0", "1"), ("100.0", "100"), ("1e2", "100"), ("12345.678", "12345.678"),
            ("-2.5", "-2.5"), ("0.1", "0.1"), ("1e20", "100000000000000000000"), ("1e21", "1e+21"),
            ("1.5e21", "1.5e+21"), ("123456789012345680000.0", "123456789012345680000"),
            ("12345678901234567890.0", "12345678901234567000"), ("9007199254740993.0", "9007199254740992"),
            ("9007199254740994.5", "9007199254740994"), ("1e-6", "0.000001"), ("1.5e-6", "0.0000015"),
            ("1e-7", "1e-7"), ("1.25e-7", "1.25e-7"), ("5e-324", "5e-324"), ("1e-400", "0"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"), ("-1e-10", "-1e-10"), ("0.000001234", "0.000001234"),
            ("4.35", "4.35"), ("0.30000000000000004", "0.30000000000000004"), ("1E+3", "1000"),
        ])
    func doubles(_ json: String, _ expected: String) throws {
        #expect(try text(json) == expected)
    }

    @Test("no other value is a number", arguments: ["null", "true", "\"1\"", "[1]", "{}"])
    func others(_ json: String) throws {
        #expect(try text(json) == nil)
    }

    @Test("every number fits its buffer and reads back as itself", arguments: [1, 2, 3] as [UInt64])
    func roundTrip(seed: UInt64) throws {
        var state = seed
        for _ in 0..<2000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let double = Double(bitPattern: state ^ (state >> 29))
            guard double.isFinite else { continue }
            let printed = try #require(try text(double.description))
            #expect(printed.utf8.count <= JSONNumberText.maxCount, "seed \(seed)")
            #expect(Double(printed) == double, "seed \(seed)")
        }
    }
}
