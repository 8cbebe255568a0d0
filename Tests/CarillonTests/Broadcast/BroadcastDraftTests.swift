import Broadcasts
import Testing

@Suite("The document of a broadcast") struct BroadcastDraftTests {
    private func draft(_ text: String) throws -> BroadcastDraft {
        try #require(BroadcastDraft(Array(text.utf8), now: publication))
    }

    private static let rest = #""actiontype":"non-display","notificationid":7,"expiry":"1000millis""#

    @Test(
        "a document without published_at gets the present time as its last member, and is not changed otherwise",
        arguments: ["", #","published_at":null"#, #","published_at":" ""#])
    func publishedNow(_ own: String) throws {
        let draft = try draft("{ \(Self.rest)\(own)}\r\n \n")
        #expect(draft.key == "7")
        let expected = "{ \(Self.rest)\(own)" + #","published_at":"2025-07-07T08:02:17.000Z"}"#
        #expect(String(decoding: draft.value, as: UTF8.self) == expected)
    }

    @Test("a document with published_at is written as it is", arguments: ["1751875337", #""2025-07-07T08:02:17Z""#])
    func published(_ time: String) throws {
        let text = #"{\#(Self.rest),"published_at":\#(time)}"#
        #expect(String(decoding: try draft(text).value, as: UTF8.self) == text)
    }

    @Test(
        "what is no broadcast's document is none",
        arguments: [
            "", "[]", "hello", "{}", #"{"data":{"actiontype":"display","notificationid":"1"}}"#,
            #"{"actiontype":"display"}{}"#, #"{"actiontype":"display""#,
        ])
    func refused(_ text: String) {
        #expect(BroadcastDraft(Array(text.utf8), now: publication) == nil)
    }

    @Test(
        "a document without notificationid gets one that is known from elsewhere; one that has it, good or bad, keeps it"
    )
    func named() throws {
        let bare = #"{"actiontype":"non-display","published_at":1}"#
        let named = try #require(BroadcastDraft(Array(bare.utf8), id: "a\"b", now: publication))
        #expect(named.key == "a\"b" && named.isPublished)
        #expect(
            String(decoding: named.value, as: UTF8.self)
                == #"{"actiontype":"non-display","published_at":1,"notificationid":"a\"b"}"#)
        for (own, key) in [("7", "7"), ("null", ""), ("[]", "")] {
            let text = #"{"notificationid":\#(own),"published_at":1}"#
            let draft = try #require(BroadcastDraft(Array(text.utf8), id: "x", now: publication))
            #expect(draft.key == key && String(decoding: draft.value, as: UTF8.self) == text)
        }
    }
}
