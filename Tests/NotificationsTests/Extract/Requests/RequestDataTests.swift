import Testing

@testable import Notifications

@Suite("Data, extras and deep links (docs/rules.md §5.5, §8.6, §9)")
struct RequestDataTests {
    @Test("§8.6: every kind of value in app.data and in message.extras")
    func values() {
        for (value, ofApp, toFCM, toAPNs) in [
            (#""""#, #""""#, #""""#, #""""#),
            (#"" a \/\u001f""#, #"" a /\u001f""#, #"" a /\u001f""#, #"" a /\u001f""#),
            ("1.0", #""1""#, #""1""#, "1"),
            ("-0.0", #""0""#, #""0""#, "0"),
            ("18446744073709551615", #""18446744073709551615""#, #""18446744073709551615""#, "18446744073709551615"),
            ("1e21", #""1e+21""#, #""1e+21""#, "1e+21"),
            ("true", #""True""#, #""true""#, "true"),
            ("false", #""False""#, #""false""#, "false"),
            ("[ 1.50, null, \"a\\/b\" ]", #""[1.5,null,\"a/b\"]""#, #""[1.5,null,\"a/b\"]""#, #"[1.5,null,"a/b"]"#),
            (#"{"ä":{},"x":[]}"#, #""{\"ä\":{},\"x\":[]}""#, #""{\"ä\":{},\"x\":[]}""#, #"{"ä":{},"x":[]}"#),
            (#"{"\"":"\n"}"#, #""{\"\\\"\":\"\\n\"}""#, #""{\"\\\"\":\"\\n\"}""#, #"{"\"":"\n"}"#),
        ] {
            let app = app("\"k\":\(value)").request
            #expect(app?.members == #""type":"Generic","k":\#(ofApp),"#)
            #expect(app?.custom == app?.data)
            let message = message(#""extras":{"k":\#(value)}"#).request
            #expect(message?.members == "\"k\":\(toFCM),")
            #expect(message?.beside == "\"k\":\(toAPNs),")
        }
    }

    @Test("§8.6: null is left out, message_id comes last")
    func nulls() throws {
        let request = try #require(app(#""k":null"#).request)
        #expect(request.data == #""type":"Generic","message_id":"\#(request.messageID)""#)
        let silent = try #require(message(#""extras":{"k":null}"#).request)
        #expect(silent.data == #""message_id":"\#(silent.messageID)""#)
        #expect(silent.custom == silent.data)
    }

    @Test("§8.6: a reserved key is refused with any value")
    func reservedKeys() {
        for key in [
            "", "from", "message_type", "notification", "google", "googleX", "gcm.n", "aps", "message_id", "default",
            "event_type", "actiontype",
        ] {
            for value in ["null", "\"v\"", "{}"] {
                #expect(app("\"\(key)\":\(value)").code == .badRequest, "\(key)")
                #expect(message("\"extras\":{\"\(key)\":\(value)}").code == .badRequest, "\(key)")
            }
        }
        #expect(message(#""extras":{"type":"v"}"#).code == .badRequest)
        #expect(app(#""From":1,"goo":1,"notificationid":1,"aps2":1"#).request != nil)
    }

    @Test("§8.8: a collapse_key that FCM overwrites is counted, and sent")
    func overwritten() {
        #expect(app(#""collapse_key":"a""#).notes.overwrittenKeys == 1)
        #expect(app(#""collapse_key":null"#).notes == RequestNotes())
        let result = message(#""extras":{"collapse_key":1}"#)
        #expect(result.notes.overwrittenKeys == 1)
        #expect(result.request?.beside == #""collapse_key":1,"#)
    }

    @Test("§9: quotes around keys are removed from both ends, and counted")
    func quotes() {
        for key in ["“k”", #"\"k\""#, "‘k’", "'k'", "k”", "”“k’'"] {
            let result = app("\"\(key)\":\"v\"")
            #expect(result.request?.members == #""type":"Generic","k":"v","#, "\(key)")
            #expect(result.notes.quotedKeys == 1, "\(key)")
        }
        let twice = app(#""a”":1,"b":2,"a":3,"k\"k":4"#)
        #expect(twice.request?.members == #""type":"Generic","a":"3","b":"2","k\"k":"4","#)
        #expect(app(#""“aps”":1"#).code == .badRequest)
        #expect(app(#""”":1"#).code == .badRequest)
        #expect(message(#""extras":{"'k'":1}"#).request?.members == #""'k'":"1","#)
        #expect(app(#""€":1,"k€":2"#).request?.members == #""type":"Generic","€":"1","k€":"2","#)
    }

    @Test("§9: click_action is in data, and if it is not empty also beside it")
    func clickAction() {
        #expect(app(#""click_action":"OPEN\"""#).request?.shown["clickAction"] == #"OPEN\""#)
        #expect(app(#""click_action":1.0"#).request?.shown["clickAction"] == "1")
        #expect(app(#""click_action":"""#).request?.shown["clickAction"] == nil)
        #expect(app(#""click_action":null"#).request?.shown["clickAction"] == nil)
        #expect(typed("DatevSuccess").request?.shown["clickAction"] == "FLUTTER_NOTIFICATION_CLICK")
        #expect(message(#""extras":{"click_action":"OPEN"}"#).request?.shown["clickAction"] == nil)
    }

    @Test("§5.5: a deep link is two trimmed strings on both platforms, each in its place")
    func links() {
        let members = #""order_type":" Food","k":1,"order_id":12345"#
        let app = app(members)
        #expect(app.request?.members == #""type":"Generic","order_type":"food","k":"1","order_id":"12345","#)
        #expect(app.notes == RequestNotes())
        let message = message(#""extras":{\#(members)}"#)
        #expect(message.request?.members == #""order_type":"food","k":"1","order_id":"12345","#)
        #expect(message.request?.beside == #""order_type":"food","k":1,"order_id":"12345","#)
        #expect(message.notes == RequestNotes())
    }

    @Test("§5.5: without a link they are ordinary members, and counted")
    func noLinks() {
        for (type, id) in [(#""pizza""#, "1"), (#""food""#, #""""#), (#""food""#, "true"), ("1", "2"), ("[]", "{}")] {
            let result = message(#""extras":{"order_type":\#(type),"order_id":\#(id)}"#)
            #expect(result.request?.beside == #""order_type":\#(type),"order_id":\#(id),"#)
            #expect(result.notes.unlinked == 1)
            #expect(app(#""order_type":\#(type),"order_id":\#(id)"#).notes.unlinked == 1)
        }
        #expect(message(#""extras":{"order_type":"food","order_id":null}"#).notes == RequestNotes())
        #expect(message(#""silent":true,"extras":{"order_type":"pizza","order_id":1}"#).request != nil)
    }

    @Test("§1.3: FCM counts keys and values of data, and title, body and image with their names")
    func sizes() throws {
        let request = try #require(app(#""k":"ä\n""#, #""imageUrl":"https://x""#).request)
        #expect(request.dataSize == "typeGenerickmessage_id".utf8.count + 3 + request.messageID.utf8.count)
        #expect(request.notificationSize == "title42bodyThe purpose of lifeimagehttps://x".utf8.count)
        let silent = try #require(message(#""silent":true,"extras":{"k":[1]}"#).request)
        #expect(silent.dataSize == "k[1]message_id".utf8.count + silent.messageID.utf8.count)
        #expect(silent.notificationSize == 0)
    }

    @Test("§10: every field of a visible message")
    func messageFields() throws {
        let request = try #require(
            message(
                #""badge":3,"sound":"s\"","icon":"i","category":"c","titleLocKey":"T","titleLocArgs":["a",""],"bodyLocKey":"B","bodyLocArgs":["\n"],"silent":false"#
            ).request)
        #expect(
            request.shown == [
                "title": "Bills", "body": "Three new bills", "sound": #"s\""#, "icon": "i", "category": "c",
                "titleLocKey": "T", "titleLocArgs": #"["a",""]"#, "bodyLocKey": "B", "bodyLocArgs": #"["\n"]"#,
            ])
        #expect(request.badge == 3)
        #expect(message(#""badge":2147483647"#).request?.badge == .max)
        #expect(message(#""titleLocArgs":[]"#).request?.shown["titleLocArgs"] == nil)
    }

    @Test("§10: a silent message leaves out what is shown")
    func silent() throws {
        let request = try #require(
            message(
                #""badge":3,"sound":"s","icon":"i","category":"c","titleLocKey":"T","titleLocArgs":["a"],"silent":true,"extras":{"k":1}"#
            ).request)
        #expect(request.isSilent)
        #expect(request.shown == [:])
        #expect(request.badge == nil)
        #expect(request.beside == "\"k\":1,")
    }

    @Test(
        "§10: one of title, body and their keys is enough to be shown",
        arguments: ["title", "body", "titleLocKey", "bodyLocKey"])
    func shown(name: String) {
        #expect(request(#""message":{"\#(name)":"a"}"#).request?.shown == [name: "a"])
    }
}
