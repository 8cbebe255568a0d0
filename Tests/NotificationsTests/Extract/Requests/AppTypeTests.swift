import JSONReader
import Testing

@testable import Notifications

@Suite("The types of app notifications (docs/rules.md §9.1)")
struct AppTypeTests {
    private static let image =
        "https://static.scientificamerican.com//file/6707FBEA-499C-41ED-9532AB44DDA359C1_source.jpg"
    /// The `data` of document 2's own examples, as they are printed there.
    private static let examples: [(name: String, data: String)] = [
        ("Generic", "{\n    \"type\": \"Generic\"\n  }"),
        ("NewBill", "{\n    \"type\": \"NewBill\",\n    \"bill_matched_via_banking_card\": \"True\"\n  }"),
        ("BillExportStarted", "{\n    \"type\": \"BillExportStarted\"\n  }"),
        (
            "NewBankingCardAddedSuccess",
            "{\n    \"type\": \"NewBankingCardAddedSuccess\",\n    \"bank_card_link_success\": \"True\"\n  }"
        ),
        (
            "NewBankingCardAddedError",
            "{\n    \"type\": \"NewBankingCardAddedError\",\n    \"bank_card_link_success\": \"False\"\n  }"
        ),
        (
            "DatevSuccess",
            """
            {
                  "type": "DatevSuccess",
                  "click_action": "FLUTTER_NOTIFICATION_CLICK",
                  "view": "datev_success"
              }
            """
        ),
        (
            "DatevError",
            """
            {
                  "type": "DatevError",
                  "click_action": "FLUTTER_NOTIFICATION_CLICK",
                  "view": "datev_failed",
                  "error": "ThisIsAndError",
                  "errorUri": "this/is/the/error/uri",
                  "message”": "Super nice error message exactly describing the problem",
                  "requestId": "12345"
              }
            """
        ),
        ("WarrantyReminder", "{\n    \"type\": \"WarrantyReminder\"\n  }"),
        (
            "FinoSynchronisation",
            "{\n    \"type\": \"FinoSynchronisation\",\n    \"service\": \"fino\",\n    \"action\": \"added\"\n  }"
        ),
        (
            "FinoDisconnected",
            "{\n    \"type\": \"FinoDisconnected\",\n    \"service\": \"fino\",\n    \"action\": \"deleted\"\n  }"
        ),
        (
            "FinoChallengeRequired",
            "{\n    \"type\": \"FinoChallengeRequired\",\n    \"bankId\": \"<inernal_bank_id>\"\n  }"
        ),
    ]

    /// Fixed pairs as members of JSON.
    private func text(_ pairs: [AppTypes.FixedPair]) -> String {
        pairs.map { "\"\($0.key)\":\"\($0.value)\"," }.joined()
    }

    @Test("document 2's example of every type is sent byte for byte, but for the quote in a key")
    func examples() {
        #expect(Self.examples.map(\.name) == AppTypes.documented.map(\.name))
        for (name, data) in Self.examples {
            let app = #""title":"42","body":"The purpose of life","imageUrl":"\#(Self.image)","data":\#(data)"#
            let result = request(#""app":{\#(app)}"#)
            let lines = data.split(separator: "\n").map { $0.replacing("\": \"", with: "\":\"") }
            let object = lines.map { String($0.drop { $0 == " " }) }.joined().replacing("”", with: "")
            let expected = object.dropFirst().dropLast() + ","
            #expect(result.request?.members == String(expected), "\(name)")
            #expect(result.request?.beside == "\(expected)\"imageUrl\":\"\(Self.image)\",", "\(name)")
            #expect(result.request?.shown["title"] == "42")
            #expect(result.request?.shown["body"] == "The purpose of life")
            #expect(result.request?.shown["image"] == Self.image)
            var notes = RequestNotes()
            notes.quotedKeys = name == "DatevError" ? 1 : 0
            #expect(result.notes == notes, "\(name)")
        }
    }

    @Test("an absent fixed pair is added after the own members, in the order of the table")
    func absentPairs() {
        for type in AppTypes.documented {
            let nulls = type.fixed.map { ",\"\($0.key)\":null" }.joined()
            let result = typed(type.name, "\"own\":1\(nulls)")
            let expected = "\"type\":\"\(type.name)\",\"own\":\"1\"," + text(type.fixed)
            #expect(result.request?.members == expected)
            #expect(result.request?.custom == result.request?.data)
        }
    }

    @Test("another text of a fixed pair is a dead letter", arguments: AppTypes.documented)
    func otherPairs(type: AppTypes.AppType) {
        for pair in type.fixed {
            for value in ["\"other\"", "1", "{}", "\"\"", "\"datev_Success\"", "\"Fino\""] {
                #expect(typed(type.name, "\"\(pair.key)\":\(value)").code == .conflictingValue)
            }
        }
    }

    @Test("True and False are compared without regard to case, and written as in the table; only in fixed pairs")
    func flags() {
        let key = "\"bill_matched_via_banking_card\""
        for value in ["true", "\"true\"", "\"TRUE\"", "\"True\""] {
            #expect(typed("NewBill", "\(key):\(value)").request?.members.contains("\(key):\"True\"") == true)
        }
        let error = typed("NewBankingCardAddedError", #""bank_card_link_success":"fALSE""#)
        #expect(error.request?.members.contains(#""bank_card_link_success":"False""#) == true)
        #expect(typed("NewBankingCardAddedError", #""bank_card_link_success":true"#).code == .conflictingValue)
        #expect(app("\(key):\"true\"").request?.members.contains("\(key):\"true\"") == true)
    }

    @Test("an expected key that is absent or null is counted, and the notification is sent")
    func expectedKeys() {
        #expect(typed("DatevError").notes.missingKeys == 4)
        #expect(typed("DatevError", #""error":"","requestId":null"#).notes.missingKeys == 3)
        #expect(typed("FinoChallengeRequired").notes.missingKeys == 1)
        #expect(typed("FinoChallengeRequired", #""bankId":4711"#).notes == RequestNotes())
        #expect(typed("DatevError").request != nil)
    }

    @Test(
        "an unknown type is sent as it is and counted, or a dead letter",
        arguments: ["NewBillAdded", "newbill", " NewBill"])
    func unknownTypes(name: String) {
        let result = typed(name)
        #expect(result.request?.members == "\"type\":\"\(name)\",")
        #expect(result.notes.unknownTypes == 1)
        let refused = typed(name, rules: RequestRules(unknownTypes: .deadLetter))
        #expect(refused.code == .unknownType)
        #expect(refused.sentence == "\"\(name)\" is no type of app notification, such as NewBill")
        #expect(refused.notes == RequestNotes())
    }

    @Test("app-types adds types with pairs and keys of their own")
    func addedTypes() throws {
        let json = #"{"LoyaltyPoints":{"fixed":{"view":"points","new":"True"},"expected":["points","view"]},"Bare":{}}"#
        let rules = RequestRules(unknownTypes: .deadLetter, appTypes: try AppTypes(json: Array(json.utf8)))
        let result = typed("LoyaltyPoints", #""new":"tRUE""#, rules: rules)
        #expect(result.request?.members == #""type":"LoyaltyPoints","new":"True","view":"points","#)
        #expect(result.notes.missingKeys == 1)
        #expect(typed("LoyaltyPoints", #""view":"x""#, rules: rules).code == .conflictingValue)
        #expect(typed("Bare", rules: rules).request != nil)
        #expect(typed("LoyaltyPoints").notes.unknownTypes == 1)
    }

    @Test("all problems of app-types are named at once")
    func problems() {
        let json = #"""
            {"NewBill":{},"":{},"A":1,"B":{"fixed":{"type":"x","google.a":"x","":"x","k":1},"expected":["order_id",2]},
            "C":{"fixed":[],"expected":{},"fixd":{}}}
            """#
        #expect(throws: InvalidForm.self) { try AppTypes(json: Array(json.utf8)) }
        do throws(InvalidForm) {
            _ = try AppTypes(json: Array(json.utf8))
        } catch {
            #expect(
                error.problems == [
                    "NewBill is a type already", "a type has no name", "A is no object",
                    "fixed of B has the key 'type', which is not allowed",
                    "fixed of B has the key 'google.a', which is reserved for FCM", "fixed of B has an empty key",
                    "fixed of B needs k, a text",
                    "B has expected, which must be a list of texts that are not empty",
                    "B has the key 'order_id', which is not allowed",
                    "C has the member 'fixd'; allowed are fixed, expected", "fixed of C is no object",
                    "C has expected, which must be a list of texts that are not empty",
                ])
        }
        for text in ["", "[]", "{", "\"a\""] {
            #expect(throws: InvalidForm.self) { try AppTypes(json: Array(text.utf8)) }
        }
    }
}
