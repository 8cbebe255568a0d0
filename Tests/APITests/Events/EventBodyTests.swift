import HTTPServer
import JSONReader
import Testing

@testable import API

@Suite("API: bodies of events") struct EventBodyTests {
    private func read(
        _ body: String, _ type: String = EventBody.bare, _ headers: [(String, String)] = []
    ) throws(Problem) -> EventBody {
        var request = IncomingRequest(
            method: "POST", target: "/v1/events",
            headers: ([("content-type", type)] + headers).map { .init($0.0, $0.1) })
        request.body = Array(body.utf8)
        var reader = JSONReader()
        return try EventBody(request, &reader)
    }

    private func texts(_ event: EventBody.Event) -> [String] {
        event.headers.map { "\($0.name)=\(String(decoding: $0.value ?? [], as: UTF8.self))" }
    }

    @Test(
        "each form becomes the record that Kafka's binding has: headers ce_ and the data, or the envelope, or the bare event"
    )
    func forms() throws {
        let binary = try read(
            #"{"order":{}}"#, "application/json; charset=utf-8", [("ce-id", "1"), ("ce-source", "shop%20%C3%BC")])
        #expect(texts(binary.events[0]) == ["ce_id=1", "ce_source=shop ü", "content-type=application/json"])
        #expect(String(decoding: binary.events[0].value, as: UTF8.self) == #"{"order":{}}"#)
        let structured = try read(#" {"specversion":"1.0"}"#, EventBody.structured)
        #expect(texts(structured.events[0]) == ["content-type=application/cloudevents+json"])
        #expect(String(decoding: structured.events[0].value, as: UTF8.self) == #" {"specversion":"1.0"}"#)
        let bare = try read(#"{"event_type":"ORDER_CREATED"}"#)
        #expect(bare.events[0].headers.isEmpty && !bare.isBatch)
    }

    @Test("the events of a batch keep their bytes")
    func batch() throws {
        let elements = [#"{"a":[1,"],{\"\\"],"b":{"c":[]}}"#, "{}", #"{ "é" : 1.50 }"#]
        let body = try read(" [\(elements[0]) ,\n\(elements[1]),\(elements[2])\t]\n", EventBody.batch)
        #expect(body.events.map { String(decoding: $0.value, as: UTF8.self) } == elements && body.isBatch)
        #expect(body.events.allSatisfy { texts($0) == ["content-type=application/cloudevents+json"] })
    }

    @Test("of a list with far too many elements no more are made than show it")
    func tooMany() {
        let elements = EventBody.elements(Array(("[1" + String(repeating: ",1", count: 500_000) + "]").utf8))
        #expect(elements.count == EventBody.mostEvents + 1)
    }

    @Test(
        "what is no event, no list, or too many of them is refused",
        arguments: [
            ("[]", EventBody.batch, [], "bad_request"), ("{}", EventBody.batch, [], "bad_request"),
            ("[{}]", EventBody.bare, [], "bad_request"), ("7", EventBody.structured, [], "bad_request"),
            ("[{}", EventBody.batch, [], "not-json"), ("[{\"a\":1,\"a\":1}]", EventBody.batch, [], "duplicate-member"),
            ("[" + String(repeating: "{},", count: 500) + "{}]", EventBody.batch, [], "too-large"),
            ("{}", EventBody.structured, [("ce-id", "1")], "bad-header"),
            ("{}", EventBody.bare, [("ce-id", "1"), ("ce-id", "2")], "bad-header"),
            ("{}", EventBody.bare, [("ce-id", "%ff")], "bad-header"),
        ] as [(String, String, [(String, String)], String)])
    func refused(body: String, type: String, headers: [(String, String)], code: String) {
        let problem = #expect(throws: Problem.self) { try read(body, type, headers) }
        #expect(problem?.code.rawValue == code)
    }
}
