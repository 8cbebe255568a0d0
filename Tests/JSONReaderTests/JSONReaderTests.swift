import JSONReader
import Testing

@Suite("Reading JSON")
struct JSONReaderTests {
    private func error(of bytes: [UInt8]) -> JSONError? {
        var reader = JSONReader()
        return bytes.withUnsafeBytes { bytes in
            do throws(JSONError) {
                _ = try reader.parse(bytes)
                return nil
            } catch {
                return error
            }
        }
    }

    private func error(of text: String) -> JSONError? {
        error(of: Array(text.utf8))
    }

    @Test(
        "what simdjson refuses has a name",
        arguments: [
            ("", .empty), (" \n", .empty), ("{", .syntax), ("[1,2", .syntax), ("[1,,2]", .syntax), ("{}{}", .syntax),
            ("{\"a\" 1}", .syntax), ("[tru]", .syntax), ("[NaN]", .syntax), ("[+1]", .syntax), ("[.5]", .syntax),
            ("[\"a", .unclosed), ("[\"\\q\"]", .invalidString), ("[\"\\ud800\"]", .invalidString),
            ("[\"\u{1}\"]", .invalidString), ("nope", .syntax),
        ] as [(String, JSONError)])
    func errors(_ text: String, _ expected: JSONError) {
        #expect(error(of: text) == expected)
    }

    @Test("bytes that are not UTF-8 are distinguished from bad JSON, wherever they are")
    func invalidUTF8() {
        #expect(error(of: Array("[\"".utf8) + [0xFF] + Array("\"]".utf8)) == .invalidUTF8)
        #expect(error(of: [0xC3]) == .invalidUTF8)
        #expect(error(of: Array("[\"".utf8) + [0xED, 0xA0, 0x80] + Array("\"]".utf8)) == .invalidUTF8)
        #expect(error(of: Array("{} ".utf8) + [0xC0, 0x80]) == .invalidUTF8)
    }

    @Test(
        "§5.2: a number that is none, or has no place in 64 bits, is an invalid number anywhere",
        arguments: [
            "01", "-01", "1e400", "-1e400", "18446744073709551616", "-9223372036854775809", "99999999999999999999999",
            "1.", "-", "1x", "0x10", "1e", "1e99999999999999999999",
        ])
    func invalidNumbers(_ number: String) {
        #expect(error(of: number) == .invalidNumber)
        #expect(error(of: #"{"a":[{"b":\#(number)}],"c":1}"#) == .invalidNumber)
    }

    @Test("§5.2: 63 levels always pass, 65 never")
    func depth() {
        func nested(_ depth: Int, _ open: String, _ inside: String, _ close: String) -> String {
            String(repeating: open, count: depth) + inside + String(repeating: close, count: depth)
        }
        for depth in 1...63 {
            #expect(error(of: nested(depth, "[", "", "]")) == nil)
            #expect(error(of: nested(depth, "[", "1", "]")) == nil)
            #expect(error(of: nested(depth, "{\"a\":", "1", "}")) == nil)
        }
        for depth in [65, 66, 100, 10_000] {
            #expect(error(of: nested(depth, "[", "", "]")) == .tooDeep)
            #expect(error(of: nested(depth, "{\"a\":", "1", "}")) == .tooDeep)
        }
    }

    @Test("a byte order mark at the beginning is skipped, one only")
    func byteOrderMark() {
        #expect(error(of: "\u{FEFF}{}") == nil)
        #expect(error(of: "\u{FEFF}") == .empty)
        #expect(error(of: "\u{FEFF}\u{FEFF}{}") == .syntax)
    }

    @Test("values of every kind are read as what they are")
    func values() throws {
        var reader = JSONReader()
        let text =
            #"{"s":"aé\n","i":-7,"u":18446744073709551615,"d":2.5,"t":true,"f":false,"n":null,"a":[1,[2],{}],"o":{"x":1}}"#
        let root = try Array(text.utf8).withUnsafeBytes { bytes in try reader.parse(bytes) }
        #expect(root.isObject)
        #expect(root.member("s").flatMap { $0.string.map { String(decoding: $0.bytes, as: UTF8.self) } } == "aé\n")
        #expect(root.member("i")?.integer == -7)
        #expect(root.member("u")?.unsigned == .max)
        #expect(root.member("u")?.integer == nil)
        #expect(root.member("d")?.double == 2.5)
        #expect(root.member("d")?.isNumber == true)
        #expect(root.member("t")?.boolean == true)
        #expect(root.member("f")?.boolean == false)
        #expect(root.member("s")?.boolean == nil)
        #expect(root.member("n")?.isNull == true)
        #expect(root.member("o")?.member("x")?.integer == 1)
        #expect(root.member("none") == nil)
        #expect(root.member("s")?.member("x") == nil)
        var elements = try #require(root.member("a")).elements
        #expect(elements.next()?.integer == 1)
        #expect(elements.next()?.isArray == true)
        #expect(elements.next()?.isObject == true)
        #expect(elements.next() == nil)
        var none = try #require(root.member("s")).elements
        #expect(none.next() == nil)
    }

    @Test("§5.2: a member that occurs twice: the last wins, its name escaped or not")
    func duplicates() throws {
        var reader = JSONReader()
        let text = Array(#"{"a":1,"b":{"a":9},"\u0061":2}"#.utf8)
        let value = try text.withUnsafeBytes { bytes in try reader.parse(bytes) }
        #expect(value.member("a")?.integer == 2)
    }

    @Test("a string of a document can itself be parsed by the same reader")
    func nested() throws {
        var reader = JSONReader()
        let long = String(repeating: "x", count: 10_000)
        let text = Array(#"["[\"[\\\"\#(long)\\\"]\"]"]"#.utf8)
        var value = try text.withUnsafeBytes { bytes in try reader.parse(bytes) }
        for _ in 0..<2 {
            var elements = value.elements
            let text = try #require(elements.next()?.string)
            value = try reader.parse(text.bytes)
        }
        var elements = value.elements
        #expect(elements.next()?.string?.count == 10_000)
    }

    @Test("a reader continues after an error, and after documents of all sizes")
    func reuse() throws {
        var reader = JSONReader()
        for size in [1, 5000, 10, 300_000, 3, 1 << 20] {
            let text = "\"" + String(repeating: "é", count: size / 2 + 1) + "\""
            let value = try Array(text.utf8).withUnsafeBytes { bytes in try reader.parse(bytes) }
            #expect(value.string?.count == 2 * (size / 2 + 1))
            let broken = [UInt8(ascii: "{")].withUnsafeBytes { bytes in try? reader.parse(bytes) }
            #expect(broken == nil)
        }
    }
}
