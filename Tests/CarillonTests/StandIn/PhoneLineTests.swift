import Testing

@testable import ProviderStandIn
@testable import carillon

@Suite("what the stand-ins print of a request") struct PhoneLineTests {
    private static func line(
        _ provider: StandInProviders.Provider, _ body: String, _ status: Int = 200, _ reason: String? = nil
    ) -> String {
        PhoneLine.text(
            provider,
            StandInRecord(
                tokenHash: "3fa94c11" + String(repeating: "0", count: 56), status: status, reason: reason, id: nil,
                body: Array(body.utf8)))
    }

    @Test("a push that is shown has its title and text, its message id and the answer, and never the token")
    func shown() {
        let fcm = #"""
            {"message":{"token":"a-made-up-token","notification":{"title":"On its way","body":"Tap it"},
            "data":{"message_id":"msg-1-abc","x":"y"}}}
            """#
        #expect(Self.line(.fcm, fcm) == #"phone 3fa94c11 (fcm) shows "On its way: Tap it"  msg-1-abc  accepted"#)
        let apns = #"{"aps":{"alert":{"title":"On its way"}},"message_id":"msg-1-abc"}"#
        #expect(
            Self.line(.apns, apns, 410, "Unregistered")
                == #"phone 3fa94c11 (apns) shows "On its way"  msg-1-abc  410 Unregistered"#)
    }

    @Test("a push stays one line and cannot reach the terminal, whatever its texts are")
    func hostile() {
        let fcm = #"{"message":{"notification":{"title":"a\u001b[2J\nphone 00","body":"\u009b\u202e"}}}"#
        #expect(
            Self.line(.fcm, fcm)
                == #"phone 3fa94c11 (fcm) shows "a\u{1b}[2J\u{a}phone 00: \u{9b}\u{202e}"  accepted"#)
    }

    @Test("of a silent push it says what the app gets")
    func silent() {
        let order = #"""
            {"aps":{"content-available":1},"default":"{\"data\":{\"message_id\":\"msg-2-abc\",\"order_id\":\"17\",\"visible_id\":\"17\",\"event_type\":\"event_order_created\",\"delivery_date\":\"2026-11-24\",\"start_time\":\"14:00\",\"end_time\":\"16:00\",\"place_id\":\"42\"}}"}
            """#
        #expect(
            Self.line(.apns, order)
                == "phone 3fa94c11 (apns) gets, silently, order_created of order 17, for 2026-11-24 14:00–16:00"
                + "  msg-2-abc  accepted")
        let app = #"{"message":{"token":"t","data":{"type":"NewBill","amount":"23.40","message_id":"msg-3-abc"}}}"#
        #expect(
            Self.line(.fcm, app)
                == "phone 3fa94c11 (fcm) gets, silently, NewBill with amount=23.40  msg-3-abc  accepted")
    }

    @Test("a body that is no push at all is said to be one")
    func unreadable() {
        #expect(
            Self.line(.fcm, "?", 400, "INVALID_ARGUMENT")
                == "phone 3fa94c11 (fcm) gets what no app can read (the push is not a JSON object)  400 INVALID_ARGUMENT"
        )
    }
}
