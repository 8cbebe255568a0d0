import Notifications
import Testing

@Suite("Input limits and broken input")
struct InputLimitTests {
    @Test("§5.2: a null value is a dead letter")
    func nullValue() {
        #expect(extract(TestRecord(bytes: nil)).code == .nullValue)
    }

    @Test("a value of 1 MiB is read, a larger one is not")
    func size() {
        func event(_ count: Int) -> String {
            let frame = created(#""x":"""#)
            return created(#""x":"\#(String(repeating: "x", count: count - frame.utf8.count))""#)
        }
        #expect(extract(event(1 << 20)).notifications.count == 1)
        let over = extract(event((1 << 20) + 1))
        #expect(over.code == .valueTooLarge)
        #expect(over.deadLetter?.message.contains("1048577") == true)
    }

    @Test("§5.2 Depth: 63 levels always pass, 65 never, inside a JSON string too")
    func depth() {
        func event(_ depth: Int) -> String {
            created(#""x":\#(String(repeating: "[", count: depth - 2))\#(String(repeating: "]", count: depth - 2))"#)
        }
        #expect(extract(event(63)).notifications.count == 1)
        #expect(extract(event(65)).code == .tooDeep)
        #expect(extract("\"" + event(65).replacing("\"", with: "\\\"") + "\"").code == .tooDeep)
        #expect(extract(event(50_000)).code == .tooDeep)
    }

    @Test(
        "§5.2: a number that simdjson refuses is a dead letter, anywhere in the record",
        arguments: ["01", "1e400", "18446744073709551616", "-9223372036854775809", "1."])
    func invalidNumber(_ number: String) {
        #expect(extract(created(#""items":[{"price":\#(number)}]"#)).code == .invalidNumber)
        #expect(extract(created(#""id":\#(number)"#)).code == .invalidNumber)
    }

    @Test("invalid UTF-8 is a dead letter with a code of its own, wherever it occurs")
    func invalidUTF8() {
        let bytes = Array(created(#""note":"é""#).utf8)
        for index in bytes.indices where bytes[index] == 0xC3 {
            var broken = bytes
            broken[index] = 0xFF
            #expect(extract(TestRecord(bytes: broken)).code == .invalidUTF8)
        }
    }

    @Test(
        "what is not JSON is a dead letter",
        arguments: ["", " ", "{", "nope", "{}{}", "{\"a\":\"\\ud800\"}", "{'a':1}", "\"nope\""])
    func invalidJSON(_ text: String) {
        let result = extract(text)
        #expect(result.code == .invalidJSON)
        #expect(result.deadLetter?.message.isEmpty == false)
    }

    @Test("a dead letter leaves the batch unchanged and does not affect the next event")
    func afterDeadLetter() {
        let broken = [
            TestRecord("{"),
            TestRecord(#"{"event_type":"ORDER_IDS_LISTED","place_id":"p","order_ids":["a","b"],"order":7}"#),
            TestRecord(bytes: nil), TestRecord(#"{"event_type":"ORDER_CREATED","order":{}}"#),
        ]
        let event = TestRecord(created(#""order_number":"n""#))
        let alone = extract(event).notifications[0].encoded
        for record in broken {
            let results = extract([event, record, event])
            #expect(results[1].notifications.isEmpty && results[1].deadLetter != nil)
            #expect(results[1].code != .recordRefused)
            #expect(results[2].notifications.first?.encoded == alone)
        }
    }

    @Test("a batch reports when it is full")
    func full() {
        var batch = EventBatch(.orders, topic: "orders.events")
        var states = [batch.isFull]
        batch.text.append(upTo: 64 << 20) { $0 + (64 << 20) }
        states.append(batch.isFull)
        batch.removeAll()
        states.append(batch.isFull)
        #expect(states == [false, true, false])
    }
}
