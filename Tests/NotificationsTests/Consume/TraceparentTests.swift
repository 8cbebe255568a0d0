import Testing

@testable import Notifications

@Suite("What goes on of a traceparent")
struct TraceparentTests {
    private static let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test(
        "it goes on in W3C's form of version 00, in no other",
        arguments: [
            (good, true), ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff", true),
            (good + "0", false), (good + "-", false), (String(good.dropLast()), false), (" " + good, false),
            ("01" + good.dropFirst(2), false), ("cc" + good.dropFirst(2) + "-more", false),
            ("ff" + good.dropFirst(2), false), (good.uppercased(), false),
            (good.replacing("-", with: "_"), false),
            ("00-" + String(repeating: "0", count: 32) + good.dropFirst(35), false),
            (good.prefix(36) + String(repeating: "0", count: 16) + "-01", false),
            (good.replacing("b7ad", with: "b7ag"), false), (String(repeating: "0", count: 55), false),
        ] as [(String, Bool)])
    func form(_ text: String, isRight: Bool) {
        let bytes = OwnedBytes(Array(text.utf8))
        #expect(withExtendedLifetime(bytes) { Traceparent.isValid(bytes.bytes) } == isRight)
    }

    @Test(
        "the first of its form goes on; a record that has none of it, but another, is counted",
        arguments: [
            ([good], good, 0), ([], nil, 0), (["none"], nil, 1), ([String(repeating: "a", count: 1 << 20)], nil, 1),
            (["none", good, "00"], good, 0), (["x", "y"], nil, 1), ([" "], nil, 0),
        ] as [([String], String?, Int)])
    func headers(_ values: [String], goesOn: String?, counted: Int) throws {
        let headers = [("a", "b")] + values.map { ("traceparent", $0) }
        let event = try Extracted(created(""), headers, .orders)
        #expect(event.traceparent == goesOn && event.counted == counted)
        let request = try Extracted(
            #"{"audience":"user/1","message":{"title":"a"}}"#, headers, .requests)
        #expect(request.traceparent == goesOn && request.counted == counted)
    }

    @Test("a broadcast's goes on by the same rule")
    func broadcasts() {
        let values = [nil, "none", Self.good].map { $0.map { OwnedBytes(Array($0.utf8)) } }
        let name = UnsafeRawBufferPointer(Traceparent.name)
        withExtendedLifetime(values) {
            let headers = values.map { EventHeader(name: name, value: $0?.bytes) }
            #expect(Traceparent.first(of: headers).map { String(decoding: $0, as: UTF8.self) } == Self.good)
            #expect(Traceparent.first(of: Array(headers.prefix(2))) == nil)
        }
    }
}

/// What one record's extraction leaves in its batch.
private struct Extracted {
    var traceparent: String?
    var counted: Int

    init(_ json: String, _ headers: [(String, String)], _ source: SourceKind) throws {
        var batch = EventBatch(source, topic: "t")
        let value = OwnedBytes(Array(json.utf8))
        let owned = headers.map { (OwnedBytes(Array($0.0.utf8)), OwnedBytes(Array($0.1.utf8))) }
        batch.headers = owned.map { EventHeader(name: $0.0.bytes, value: $0.1.bytes) }
        batch.records = [
            EventRecord(
                partition: 0, offset: 0, timestamp: 0, key: nil, value: value.bytes, headers: 0..<headers.count)
        ]
        let outcome: ExtractionOutcome
        switch source {
        case .orders:
            var extractor = Extractor(rules: try ExtractionRules())
            var history = NoHistory()
            outcome = extractor.extract(0, in: &batch, history: &history)
            counted = extractor.notes.ignoredTraceparents
        case .requests:
            var extractor = RequestExtractor(rules: RequestRules())
            outcome = extractor.extract(0, in: &batch)
            counted = extractor.notes.ignoredTraceparents
        }
        guard case .notifications(1) = outcome else { throw TestError() }
        traceparent = batch.records[0].traceparent.map { String(decoding: $0, as: UTF8.self) }
        withExtendedLifetime((value, owned)) {}
    }

    private struct TestError: Error {}
}
