import Testing

@testable import Replay

@Suite("The order ids in what is no event, as far as they can be read")
struct ReadableOrdersTests {
    @Test(
        "an id of an order is read in JSON, in half of it, and in JSON within a text",
        arguments: [
            (#"{"event_type":"ORDER_CREATED","order":{"id":"x"}}"#, ["x"]),
            (#"{"event_id":"e","id":"no","order": { "id" : "x" , "order_number" : 17 }}"#, ["x", "17"]),
            (#"{"order_id":"x","note":"cut o"#, ["x"]),
            (#"{"orderId":"x"#, []),
            (#"{"payload":"{\"order\":{\"id\":\"x\"}}"}"#, ["x"]),
            (#"{"id":"x","status":"pending","place":{"id":"p"}}"#, ["x"]),
            (#"{"n":01,"orderId":5}"#, ["5"]), ("order_id: x", []), ("", []), ("\"", []), (#"{"order_id":null}"#, []),
        ])
    func ids(_ value: String, _ expected: [String]) {
        var value = value
        #expect(value.withUTF8 { ReadableOrders.ids(in: UnsafeRawBufferPointer($0)) } == expected)
        #expect(ReadableOrders.ids(in: nil).isEmpty)
    }
}
