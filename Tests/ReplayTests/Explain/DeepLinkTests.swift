import CarillonTesting
import NotificationPayload
import Notifications
import Pipeline
import Testing

@testable import Replay
@testable import carillon

@Suite("§5.5: the deep link of a push, as the app finds it")
struct DeepLinkTests {
    private func keys(_ value: String) -> DeepLinkKeys? {
        RenderedRecord(key: [], value: Array(value.utf8), headers: []).withDispatchRecord(\.deepLinkKeys)
    }

    @Test("of orders and requests, to FCM and to APNs")
    func found() {
        let order = #""default":"{\"data\":{\"order_id\":\"inside\"}}","order_type":"food","order_id":"a+b""#
        let request = #""type":"Generic","order_type":"d2d","order_id":"7","message_id":"m""#
        let extras = #""n":1,"order_type":"d2d","order_id":"7","message_id":"m""#
        let food = DeepLinkKeys(orderType: "food", orderID: "a+b")
        let d2d = DeepLinkKeys(orderType: "d2d", orderID: "7")
        #expect(keys(#"{"message":{"token":"made-up-token","data":{\#(order)},"android":{}}}"#) == food)
        #expect(keys(#"{"device_token":"0a","payload":{"aps":{"content-available":1},\#(order)}}"#) == food)
        #expect(keys(#"{"message":{"token":"made-up-token","data":{\#(request)}}}"#) == d2d)
        #expect(keys(#"{"device_token":"0a","payload":{"aps":{"alert":{"title":"t"}},\#(extras)}}"#) == d2d)
    }

    @Test(
        "carillon explain prints each URL once, with the templates of the settings; a type without a template has none")
    func told() throws {
        var toy = try ToyPipeline {
            $0.deepLinks = try DeepLinks(templates: ["food": "https://shop.example/track/{order_id}"])
        }
        for token in ["one", "two"] { try toy.subscribe(token, to: "shop") }
        toy.append(.order("a+b", place: "shop", orderMembers: #""order_type":"Food""#), to: 0)
        toy.append(.order("c", place: "shop", orderMembers: #""type":"d2d""#), to: 0)
        toy.append(.order("d", place: "shop", orderMembers: #""type":"parcel""#), to: 0)
        try toy.transact([3, 0, 0])
        let run = try ReplayRun(toy)
        let sink = ExplainSink(
            .events, toy.configuration,
            index: try DispatchIndex(Scratch(), topics: toy.configuration.topics),
            refusals: Refusals(topics: toy.configuration.topics),
            history: try run.history.makeReader(.asOfEvent))
        let told = try run.perform(toy, try run.plan(toy), into: sink).finish().filter { !$0.isTimer }
            .map { ExplanationReport($0, toy.configuration.topics, toy.configuration.deepLinks) }
        let opened = told.map { text in
            text.text.split(separator: "\n").filter { $0.hasPrefix("  a tap opens  ") }.map { $0.dropFirst(15) }
        }
        let links = [
            ["https://shop.example/track/a%2Bb"], [], [],
        ]
        #expect(opened.map { $0.map(String.init) } == links)
        #expect(told.map { $0.pushes.map(\.opens) } == links.map { [$0.first, $0.first] })
    }

    @Test(
        "none without both keys, and none in what is no push",
        arguments: [
            #"{"message":{"data":{"default":"{\"data\":{\"order_id\":\"inside\"}}"}}}"#,
            #"{"message":{"data":{"type":"Generic","order_type":"food"}}}"#,
            #"{"payload":{"aps":{},"order_id":"7"}}"#, "{", "[]", "",
        ])
    func none(_ value: String) {
        #expect(keys(value) == nil)
    }
}
