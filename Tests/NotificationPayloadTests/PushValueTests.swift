import NotificationPayload
import TestSupport
import Testing

@Suite("JSON without Foundation")
struct PushValueTests {
    @Test("every kind of value is read, and written compactly with its members in the order of their names")
    func everyKind() {
        let text = #" { "b" : [ null , true, false, -1.50e+3 , "é/😀\u0000" , [ ] , { } ] , "a" : 9007199254740993 } "#
        let value = PushValue(json: text)
        #expect(value?["a"] == .number("9007199254740993"))
        #expect(
            value?["b"]
                == .array([
                    .null, .bool(true), .bool(false), .number("-1.50e+3"), .string("é/😀\0"), .array([]), .object([:]),
                ]))
        #expect(
            value?.json == #"{"a":9007199254740993,"b":[null,true,false,-1.50e+3,"é/😀\u0000",[],{}]}"#)
    }

    @Test("a value is asked for by its type, and any other type is nil")
    func accessors() {
        #expect(PushValue.number("9007199254740993").int == 9_007_199_254_740_993)
        #expect(PushValue.number("1.5").int == nil)
        #expect(PushValue.number("1.5").double == 1.5)
        #expect(PushValue.bool(true).bool == true)
        #expect(PushValue.array([.null]).array == [.null])
        #expect(PushValue.object([:])["a"] == nil)
        for value in [PushValue.null, .bool(true), .number("1"), .string("x"), .array([]), .object([:])] {
            let found: [Any?] = [value.bool, value.int, value.string, value.array, value.object]
            #expect(found.compactMap { $0 }.count == (value == .null ? 0 : 1), "\(value)")
        }
        #expect(PushValue.string("x").double == nil)
    }

    @Test("as FCM's data carries it, a string stays, null is absent, and anything else is compact JSON")
    func text() {
        #expect(PushValue.string("a\"b").text == "a\"b")
        #expect(PushValue.null.text == nil)
        #expect(PushValue.bool(false).text == "false")
        #expect(PushValue.number("1.50").text == "1.50")
        #expect(PushValue.array([.string("a"), .null]).text == #"["a",null]"#)
    }

    @Test("64 arrays inside each other are read, 65 are not; what is built deeper is written as null")
    func depth() throws {
        let nested = { (count: Int) in
            String(repeating: "[", count: count) + String(repeating: "]", count: count)
        }
        let deepest = try #require(PushValue(json: nested(64)))
        #expect(deepest.json == nested(64))
        #expect(PushValue(json: nested(65)) == nil)
        #expect(PushValue(json: String(repeating: #"{"a":"#, count: 100_000)) == nil)
        #expect(PushValue.array([deepest]).json == nested(64).replacing("[]", with: "[null]"))
    }

    @Test("bytes that are no UTF-8 are read as U+FFFD inside a string, and refused elsewhere")
    func brokenText() {
        #expect(PushValue(json: [0x22, 0xFF, 0x22] as [UInt8]) == .string("\u{FFFD}"))
        #expect(PushValue(json: [0xFF] as [UInt8]) == nil)
        #expect(PushValue(json: [0x22, 0x5C] as [UInt8]) == nil)
        #expect(PushValue(json: [] as [UInt8]) == nil)
    }

    @Test("what was written is read again", arguments: [11, 12, 13] as [UInt64])
    func roundTrip(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let value = PushValue.random(using: &generator)
            #expect(PushValue(json: value.json) == value, "seed \(seed)")
        }
    }

    @Test("what a system hands over as Any is converted; what JSON cannot have is left out")
    func fromAny() {
        let userInfo: [String: Any] = [
            "text": "t", "yes": true, "one": 1, "byte": UInt8(255), "large": UInt64.max, "half": 0.5, "whole": 3.0,
            "endless": Double.infinity, "list": [1, "x", false] as [Any], "tree": ["a": ["b": 1]],
            "key": Character("x"),
            "none": Int?.none as Any, "some": Int?.some(4) as Any, "known": PushValue.null,
        ]
        #expect(
            PushValue(any: userInfo)
                == .object([
                    "text": .string("t"), "yes": .bool(true), "one": .number("1"), "byte": .number("255"),
                    "large": .number("18446744073709551615"), "half": .number("0.5"), "whole": .number("3"),
                    "list": .array([.number("1"), .string("x"), .bool(false)]),
                    "tree": .object(["a": .object(["b": .number("1")])]), "none": .null, "some": .number("4"),
                    "known": .null,
                ]))
        #expect(PushValue(any: Character("x")) == nil)
    }

    @Test("a dictionary as Any loses keys that are no strings, and what is nested too deep")
    func fromAnyOddities() {
        #expect(PushValue(any: [1: "a", "b": "c"] as [AnyHashable: Any]) == .object(["b": .string("c")]))
        var nested: Any = [Any]()
        for _ in 0..<1_000 { nested = [nested] }
        let deepest = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(PushValue(any: nested)?.json == deepest)
    }
}

extension PushValue {
    /// Any value that JSON can have, a few levels deep.
    static func random(using generator: inout SeededGenerator, depth: Int = 0) -> PushValue {
        let text = { (generator: inout SeededGenerator) in
            let alphabet = Array("ab\"\\/\u{0}\n\u{1F}é😀\u{2028} {}[]:,".unicodeScalars)
            return (0..<Int.random(in: 0..<12, using: &generator)).reduce(into: "") { text, _ in
                text.unicodeScalars.append(alphabet[Int.random(in: 0..<alphabet.count, using: &generator)])
            }
        }
        switch Int.random(in: 0..<(depth < 4 ? 6 : 4), using: &generator) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &generator))
        case 2:
            let number = Int.random(in: -1_000...1_000, using: &generator)
            let suffixes = ["", ".250", "e-7", "E+12"]
            return .number("\(number)\(suffixes[Int.random(in: 0..<suffixes.count, using: &generator)])")
        case 3: return .string(text(&generator))
        case 4:
            let count = Int.random(in: 0..<4, using: &generator)
            return .array((0..<count).map { _ in random(using: &generator, depth: depth + 1) })
        default:
            var members: [String: PushValue] = [:]
            for _ in 0..<Int.random(in: 0..<4, using: &generator) {
                members[text(&generator)] = random(using: &generator, depth: depth + 1)
            }
            return .object(members)
        }
    }
}
