import JSONReader
import TestSupport
import Testing

@testable import Notifications

@Suite("Whatever the bytes of a request")
struct RequestPropertyTests {
    private static let seeds = [
        #"{"request_id":"r","requested_at":"2025-07-07T08:02:17Z","audience":["user/17","place/1"],"priority":"normal","app":{"title":"a","body":"b\"","imageUrl":"https://x","data":{"type":"DatevError","message”":1.5,"click_action":"x","order_type":"food","order_id":7,"o":{"x":[1,null]}}}}"#,
        #"{"audience":"user/17","message":{"title":"Ada/Öl","badge":3,"collapseKey":"two words","validUntil":1751875337,"titleLocKey":"T","titleLocArgs":["a"],"extras":{"k":"v","n":1.50,"b":true,"none":null,"o":{"x":[1,null]}},"silent":false}}"#,
        #"{"specversion":"1.0","id":"1","source":"s","data":{"audience":"user/17","message":{"silent":true}}}"#,
    ]
    private static let leaves = [
        "null", "true", "false", "0", "-1", "1.5", "1e21", "18446744073709551615", "1751875337", "\"\"", "\" \"",
        "\"a\"", "\"user/17\"", "\"device/0\"", "\"2025-07-07T14:00:00Z\"", "\"https://x\"", "\"food\"", "\"high\"",
        "\"True\"", "\"NewBill\"", "\"\\u0000\\\"\\\\\"", "\"é😀\\u2028\"", "[]", "{}", "[\"a\"]", "[1]", "{\"k\":1}",
        "[\"user/17\",\"user/17\"]",
    ]
    private static let types = AppTypes.documented.map { "\"\($0.name)\"" }

    private struct Source {
        var random: SeededGenerator
        /// In percent.
        var badLeaves: UInt64 = 5

        mutating func chance(_ percent: UInt64) -> Bool { random.next() % 100 < percent }

        mutating func pick(_ values: [String]) -> String { values[Int(random.next() % UInt64(values.count))] }

        mutating func object(_ members: [(String, String)], _ extra: String) -> String {
            var texts: [String] = []
            for (name, value) in members where chance(90) {
                texts.append("\"\(name)\":\(chance(badLeaves) ? pick(leaves) : value)")
            }
            if chance(5) { texts.append("\"\(extra)\":\(pick(leaves))") }
            if chance(5), let first = texts.first { texts.append(first) }
            return "{" + texts.shuffled(using: &random).joined(separator: ",") + "}"
        }

        mutating func custom(_ more: [(String, String)]) -> String {
            let keys = [
                "k", "collapse_key", "order_type", "order_id", "view", "“q”", "action", "click_action", "bankId",
            ]
            return object(more + keys.filter { _ in chance(30) }.map { ($0, pick(leaves)) }, "aps")
        }

        mutating func request() -> String {
            let isApp = chance(50)
            let data = custom([("type", pick(types))])
            let app = object([("title", "\"a\""), ("body", "\"b\""), ("data", data)], "imageUrl")
            let message = object(
                [
                    ("title", "\"a\""), ("badge", "3"), ("extras", custom([])), ("silent", pick(["true", "false"])),
                    ("titleLocKey", "\"T\""), ("titleLocArgs", pick(["[]", "[\"a\"]", "null"])),
                ], "nonsense")
            return object(
                [
                    ("audience", "\"user/17\""), ("request_id", pick(["1", "\"r\"", "null"])),
                    (isApp ? "app" : "message", isApp ? app : message),
                ], pick(["priority", "collapse_key", "expires_at", "requested_at", "nonsense"]))
        }
    }

    /// A request is a notification of valid JSON, or a dead letter that has left the batch unchanged.
    private func check(_ result: TestRequestResult, _ comment: String) {
        #expect((result.request != nil) != (result.deadLetter != nil), "\(comment)")
        #expect(result.code != .recordRefused, "\(comment)")
        guard let request = result.request else { return }
        #expect(!request.audiences.isEmpty, "\(comment)")
        let texts = request.shown.filter { !$0.key.hasSuffix("Args") }.map { "\"\($0.value)\"" }
        let lists = request.shown.filter { $0.key.hasSuffix("Args") }.map(\.value)
        for text in ["{\(request.data)}", "{\(request.custom)}"] + texts + lists {
            var reader = JSONReader()
            let isJSON = Array(text.utf8).withUnsafeBytes { (try? reader.parse($0)) != nil }
            #expect(isJSON, "\(comment): \(text)")
        }
        #expect(request.data.hasSuffix("\"message_id\":\"\(request.messageID)\""), "\(comment)")
        #expect(request.custom.hasSuffix("\"message_id\":\"\(request.messageID)\""), "\(comment)")
    }

    @Test("any request gives a notification or a dead letter", arguments: [1, 2, 3, 4] as [UInt64])
    func requests(seed: UInt64) {
        var source = Source(random: SeededGenerator(seed: seed))
        let records = (0..<2_000).map { _ in requestRecord(source.request()) }
        let results = extractRequests(records)
        for (index, result) in results.enumerated() {
            check(result, "seed \(seed), request \(index)")
        }
        // The generator is useful only if it reaches all of them.
        #expect(results.filter { $0.request?.kind == .app }.count > 100)
        #expect(results.filter { $0.request?.kind == .message }.count > 100)
        #expect(results.filter { $0.deadLetter != nil }.count > 100)
        #expect(results.contains { $0.code == .conflictingValue })
        #expect(results.contains { $0.notes != RequestNotes() })
        // The same alone as in a batch.
        for index in stride(from: 0, to: records.count, by: 20) {
            let alone = extractRequests([records[index]])[0]
            #expect(alone.request == results[index].request, "seed \(seed), request \(index)")
            #expect(alone.deadLetter == results[index].deadLetter, "seed \(seed), request \(index)")
        }
    }

    @Test(
        "where nobody collects findings, the dead letter is the first of them, and without a finding there is none",
        arguments: [1, 2] as [UInt64])
    func firstFinding(seed: UInt64) {
        var source = Source(random: SeededGenerator(seed: seed), badLeaves: 25)
        let findings = RequestFindings()
        var several = 0
        for number in 0..<2_000 {
            let record = requestRecord(source.request())
            let alone = extractRequests([record])[0]
            let collected = extractRequests([record], findings: findings)[0]
            #expect(collected.findings.first?.letter == alone.deadLetter, "seed \(seed), request \(number)")
            #expect(collected.deadLetter == alone.deadLetter, "seed \(seed), request \(number)")
            #expect(collected.request == alone.request, "seed \(seed), request \(number)")
            if collected.findings.count > 1 { several += 1 }
        }
        #expect(several > 300)
    }

    @Test("a valid request that is cut off, or has one byte changed, removed or doubled, is handled", arguments: seeds)
    func mutations(seed: String) {
        let bytes = Array(seed.utf8)
        var records: [TestRecord] = []
        for index in bytes.indices {
            for byte in [0x00, 0x1F, 0x22, 0x2C, 0x30, 0x3A, 0x5B, 0x5C, 0x7B, 0x7D, 0x7F, 0x80, 0xC3, 0xFF] as [UInt8]
            {
                var changed = bytes
                changed[index] = byte
                records.append(TestRecord(bytes: changed))
            }
            records.append(TestRecord(bytes: Array(bytes[..<index])))
            records.append(TestRecord(bytes: Array(bytes[..<index] + bytes[(index + 1)...])))
            records.append(TestRecord(bytes: Array(bytes[...index] + bytes[index...])))
        }
        for (index, result) in extractRequests(records).enumerated() {
            check(result, "mutation \(index)")
        }
    }

    @Test("random bytes are dead letters", arguments: [5, 6] as [UInt64])
    func noise(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let records = (0..<500).map { _ in
            TestRecord(bytes: (0..<Int(random.next() % 200)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        }
        for result in extractRequests(records) {
            #expect(result.deadLetter != nil, "seed \(seed)")
        }
    }

    @Test("values as deep as the reader allows are sent, deeper ones are dead letters")
    func depth() {
        for depth in [1, 30, 60, 61, 62, 63, 64, 100, 5_000] {
            let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let result = message("\"extras\":{\"k\":\(deep)}")
            check(result, "depth \(depth)")
            #expect(depth > 60 || result.request?.members == "\"k\":\"\(deep)\",", "depth \(depth)")
            #expect(depth < 64 || result.code == .tooDeep, "depth \(depth)")
        }
    }

    @Test("hundreds of thousands of keys are handled, also repeated ones")
    func manyKeys() {
        let keys = (0..<60_000).map { "\"\($0 % 40_000)\":\($0)" }.joined(separator: ",")
        let request = message("\"extras\":{\(keys)}").request
        #expect(request?.beside.hasPrefix("\"0\":40000,\"1\":40001,") == true)
        #expect(request?.beside.hasSuffix("\"39999\":39999,") == true)
    }
}
