import JSONReader
import Testing

@testable import Notifications

@Suite("§5.6: the file of a mapping")
struct MemberMappingTests {
    private func problems(_ json: String) -> [String] {
        do {
            _ = try MemberMapping(json: Array(json.utf8))
            return []
        } catch {
            return error.problems
        }
    }

    @Test("every key may have paths of its own, up to 64 in all")
    func keys() throws {
        #expect(MemberMapping.keys.count == 30 && Set(MemberMapping.keys).count == 30)
        let all = MemberMapping.keys.enumerated().map { #""\#($1)":["x\#($0)","y.z\#($0)"]"# }.joined(separator: ",")
        let mapping = try MemberMapping(json: Array("{\(all)}".utf8))
        #expect(mapping.description.count == 60 && mapping.body != nil && mapping.order != nil)
        func json(_ count: Int) -> String {
            #"{"order.id":[\#((0..<count).map { "\"n\($0)\"" }.joined(separator: ","))]}"#
        }
        #expect(problems(json(64)) == [])
        #expect(problems(json(65)) == ["it has 65 paths; at most 64 are allowed"])
    }

    @Test("an empty one is none")
    func empty() throws {
        let mapping = try MemberMapping(json: Array("{}".utf8))
        #expect(mapping.body == nil && mapping.order == nil && mapping.description == [])
    }

    @Test(
        "each problem says what is wrong and with which key",
        arguments: [
            (#"[]"#, "it is no object"),
            (#"{"#, "it is no JSON"),
            (#"{"order.id":["a"],"order.id":["b"]}"#, "it has the key 'order.id' twice"),
            (#"{"order.id":[]}"#, "it has order.id, which must be a list of texts that are not empty"),
            (#"{"order.id":"a"}"#, "it has order.id, which must be a list of texts that are not empty"),
            (#"{"order.id":["a",1]}"#, "it has order.id, which must be a list of texts that are not empty"),
            (#"{"order.id":["id"]}"#, "it.order.id has 'id', which is a known name: it is read without a mapping"),
            (
                #"{"order.place_id":["place.id"]}"#,
                "it.order.place_id has 'place.id', which is a known name: it is read without a mapping"
            ),
            (
                #"{"order.id":["shipping_info"]}"#,
                "it.order.id has 'shipping_info', which is a known name: it is read without a mapping"
            ),
            (
                #"{"order.id":["shipping_info.slot"]}"#,
                "it.order.id has 'shipping_info.slot', which is a known name: it is read without a mapping"
            ),
            (
                #"{"event_type":["event_id"]}"#,
                "it.event_type has 'event_id', which is a known name: it is read without a mapping"
            ),
            (#"{"order.id":["a","a"]}"#, "it.order.id has 'a', which it.order.id has already"),
            (#"{"order.id":["a"],"order.status":["a"]}"#, "it.order.status has 'a', which it.order.id has already"),
            (
                #"{"order.id":["a"],"order.status":["a.b"]}"#,
                "it.order.status has 'a.b', which can never match: it.order.id has 'a', which is no object"
            ),
            (
                #"{"event_type":["orders.type"]}"#,
                "it.event_type has 'orders.type', which can never match: orders is a list"
            ),
            (
                #"{"orders":["list"],"event_type":["list.type"]}"#,
                "it.event_type has 'list.type', which can never match: it.orders has 'list', which is no object"
            ),
        ])
    func problem(_ json: String, _ sentence: String) {
        #expect(problems(json) == [sentence])
    }

    @Test(
        "a key that is none is refused with those that are allowed", arguments: ["id", "order.place.id", "orderid", ""])
    func unknownKey(_ key: String) {
        let found = problems(#"{"\#(key)":["a"]}"#)
        #expect(found.count == 1 && found[0].hasPrefix("it has the key '\(key)'; allowed are order, orders, "))
        #expect(found.first?.hasSuffix(", order.metadata.delivery_slot_end") == true)
    }

    @Test(
        "what is no path is refused",
        arguments: [
            "a..b", ".a", "a.", "a[*]", "a[*].b", "{a}", "a/b", "a.b.c.d.e.f.g.h.i", String(repeating: "x", count: 201),
        ])
    func noPath(_ path: String) {
        let found = problems(#"{"order.id":["\#(path)"]}"#)
        #expect(
            found.count == 1 && found[0].hasPrefix("it.order.id has '\(path)', which is no path: allowed are at most 8")
        )
    }

    @Test("all problems come at once")
    func all() {
        #expect(
            problems(#"{"x":["a"],"order.id":["id","a..b"],"order.status":[],"event_type":["kind","kind"]}"#).count == 5
        )
    }

    @Test("a path may lead into an order that is mapped, through a known name, and be the same in event and order")
    func allowed() {
        #expect(
            problems(
                #"{"order":["data.order"],"event_type":["data.order.kind","kind"],"order.type":["kind"],"order.status":["status.code"],"order.place_id":["place.code"],"slot":["window"],"start_time":["window.begin"]}"#
            ) == [])
    }

    @Test("the description has every path in its order, whatever the order of the keys")
    func description() throws {
        func description(_ json: String) throws -> [String] { try MemberMapping(json: Array(json.utf8)).description }
        let one = try description(#"{"order.id":["a","b"],"event_type":["c"]}"#)
        #expect(one == ["member=event_type:c", "member=order.id:a", "member=order.id:b"])
        #expect(try description(#"{"event_type":["c"],"order.id":["a","b"]}"#) == one)
        #expect(try description(#"{"event_type":["c"],"order.id":["b","a"]}"#) != one)
    }
}
