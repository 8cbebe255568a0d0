import Testing

@testable import carillon

@Suite("The document of a broadcast") struct BroadcastDraftTests {
    private func draft(_ text: String) throws -> BroadcastDraft {
        try BroadcastDraft(Array(text.utf8), name: "b.json", now: publication)
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
        "what is no broadcast's document is refused: 64",
        arguments: [
            "", "[]", "hello", "{}", #"{"data":{"actiontype":"display","notificationid":"1"}}"#,
            #"{"actiontype":"display"}{}"#, #"{"actiontype":"display""#,
        ])
    func refused(_ text: String) throws {
        let failure = #expect(throws: CommandFailure.self) { try draft(text) }
        #expect(failure?.code == .usage)
        #expect(failure?.lines.first?.hasPrefix("b.json: it must hold one broadcast as a JSON object") == true)
    }
}
