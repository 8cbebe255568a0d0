import Testing

@testable import Notifications

@Suite("What people look for a request by")
struct RequestFactsTests {
    private func facts(_ value: String?, headers: [(String, String)] = []) -> RequestFacts {
        var owned: [OwnedBytes] = []
        func own(_ text: String) -> UnsafeRawBufferPointer {
            owned.append(OwnedBytes(Array(text.utf8)))
            return owned[owned.count - 1].bytes
        }
        var extractor = RequestExtractor(rules: RequestRules())
        var batch = EventBatch(.requests, topic: "notifications.requests")
        for (name, value) in headers { batch.headers.append(EventHeader(name: own(name), value: own(value))) }
        batch.records.append(
            EventRecord(
                partition: 0, offset: 0, timestamp: nil, key: nil, value: value.map(own), headers: batch.headers.indices
            ))
        return withExtendedLifetime(owned) { extractor.facts(of: 0, in: batch) }
    }

    @Test("its own id, else that of its envelope")
    func ids() {
        let message = #""audience":"user/1","message":{"title":"T"}"#
        let headers = [("ce_source", "/billing"), ("ce_id", "7")]
        #expect(facts(#"{"request_id":" r1 ",\#(message)}"#, headers: headers).id == "r1")
        #expect(facts(#"{"request_id":17,\#(message)}"#).id == "17")
        #expect(facts("{\(message)}", headers: headers).id == "7")
        #expect(facts("{\(message)}", headers: [("id", "row")]).id == "row")
        let envelope = #"{"specversion":"1.0","id":"e1","source":"/billing","type":"t","data":{\#(message)}}"#
        #expect(facts(envelope).id == "e1" && facts(envelope).audiences == ["user/1"])
        #expect(facts("{\(message)}").id == nil)
    }

    @Test("one audience or several, the kind, and the order that it carries")
    func members() {
        let app = #"{"audience":["user/1",7,"place/2"],"app":{"data":{"order_id":4711}}}"#
        #expect(facts(app).audiences == ["user/1", "place/2"])
        #expect(facts(app).content == .app && facts(app).orderID == "4711")
        let message = #"{"audience":"user/1","message":{"extras":{"order_id":"o7"}}}"#
        #expect(facts(message).content == .message && facts(message).orderID == "o7")
        #expect(facts(#"{"audience":"user/1"}"#) == facts(#"{"audience":"user/1","app":null}"#))
    }

    @Test("a request that is wrong has them too, and what cannot be read has none")
    func wrong() {
        let wrong = #"{"request_id":"r1","colour":"red","audience":"team/7","app":{"title":7}}"#
        #expect(facts(wrong).id == "r1" && facts(wrong).audiences == ["team/7"] && facts(wrong).content == .app)
        for unreadable in [nil, "", "no JSON", "[]", "7"] {
            #expect(facts(unreadable) == RequestFacts(), "\(unreadable ?? "")")
        }
    }
}
