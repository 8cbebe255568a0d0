import JSONReader
import Testing

@testable import Notifications

@Suite("§7.1: the file of the titles and bodies of order pushes")
struct DisplayTemplatesTests {
    private func problems(_ json: String, own: [(type: OwnEventType, members: [String])] = []) -> [String] {
        do throws(InvalidForm) {
            _ = try DisplayTemplates(json: Array(json.utf8), own: own)
            return []
        } catch {
            return error.problems
        }
    }

    /// A file whose only language has these texts.
    private func problems(ofTexts json: String, own: [(type: OwnEventType, members: [String])] = []) -> [String] {
        problems(#"{"default":"en","languages":{"en":\#(json)}}"#, own: own)
    }

    @Test("languages are in the order of their names, keys are types, and a status change may have a status")
    func texts() throws {
        let json = """
            {"languages":{"pt_BR":{},"en":{"order_created":{"body":"","title":"{visible_id}: {start_time}"},\
            "order_status_changed/on hold/2":{"title":"t","body":"b"}}},"default":"PT-br"}
            """
        let templates = try DisplayTemplates(json: Array(json.utf8))
        #expect(templates.languages.map(\.name) == ["en", "pt-br"])
        #expect(templates.defaultLanguage == 1)
        let texts = templates.languages[0].texts
        #expect(texts.map(\.type) == [.known(.orderCreated), .known(.orderStatusChanged)])
        #expect(texts.map(\.status) == [nil, "on hold/2"])
        #expect(texts[0].title.parts == [.field(.visibleID), .fixed(": "), .field(.startTime)])
        #expect(texts[0].body.parts.isEmpty)
        #expect(try DisplayTemplates(json: Array(json.utf8)) == templates)
    }

    @Test("every member of a payload can be named, and every type have a text")
    func names() throws {
        let members = [
            "message_id", "order_id", "parent_order_id", "visible_id", "event_type", "delivery_date", "start_time",
            "end_time", "place_id", "previous_status", "new_status", "order_number",
        ]
        let types = [
            "order_created", "order_status_changed", "timeslot_started", "unpicked_orders_reminder", "order_ids_listed",
        ]
        let title = members.map { "{\($0)}" }.joined()
        let texts = types.map { #""\#($0)":{"title":"\#(title)","body":"b"}"# }.joined(separator: ",")
        #expect(problems(ofTexts: "{\(texts)}").isEmpty)
    }

    @Test(
        "what is wrong has its path",
        arguments: [
            ("[", "it is no JSON"),
            ("[]", "it is no object"),
            (#"{"languages":{}}"#, "it needs default, a text that is not empty"),
            (#"{"default":"en"}"#, "it needs languages, an object"),
            (#"{"default":1,"languages":{}}"#, "it needs default, a text that is not empty"),
            (#"{"default":"fr","languages":{"en":{}}}"#, "it has the default 'fr', which is not among the languages"),
            (#"{"default":"en","languages":[]}"#, "languages is no object"),
            (
                #"{"default":"en","languages":{"en":{}},"more":1}"#,
                "it has the member 'more'; allowed are default, languages"
            ),
            (#"{"default":"en","default":"en","languages":{"en":{}}}"#, "it has the member 'default' twice"),
            (
                #"{"default":"en","languages":{"en":{},"de AT":{}}}"#,
                "languages.de AT is no language tag, such as de or de-AT"
            ),
            (#"{"default":"en","languages":{"en":{},"":{}}}"#, "languages. is no language tag, such as de or de-AT"),
            (#"{"default":"en","languages":{"en":{},"de-AT":{},"DE_at":{}}}"#, "languages.DE_at is there twice"),
            (#"{"default":"en","languages":{"en":{},"de":"x"}}"#, "languages.de is no object"),
        ])
    func wrongFile(_ json: String, _ problem: String) {
        #expect(problems(json) == [problem])
    }

    @Test(
        "what is wrong with a text has its path",
        arguments: [
            (#"{"order_created":"x"}"#, "languages.en.order_created is no object"),
            (#"{"order_created":{"title":"a"}}"#, "languages.en.order_created needs body, a text"),
            (#"{"order_created":{"title":1,"body":""}}"#, "languages.en.order_created needs title, a text"),
            (
                #"{"order_created":{"title":"a","body":"b","sound":"s"}}"#,
                "languages.en.order_created has the member 'sound'; allowed are title, body"
            ),
            (
                #"{"order_created":{"title":"a","title":"a","body":"b"}}"#,
                "languages.en.order_created has the member 'title' twice"
            ),
            (
                #"{"order_created":{"title":"a","body":"b"},"order_created":{"title":"a","body":"b"}}"#,
                "languages.en.order_created is there twice"
            ),
            (#"{"order_created":{"title":"{","body":""}}"#, "languages.en.order_created.title has a { without its }"),
            (#"{"order_created":{"title":"","body":"a}"}}"#, "languages.en.order_created.body has a } without its {"),
        ])
    func wrongText(_ json: String, _ problem: String) {
        #expect(problems(ofTexts: json) == [problem])
    }

    @Test(
        "an unknown type, or a status where there is none, says which are allowed",
        arguments: [
            "order_teleported", "event_order_created", "ORDER_CREATED", "order_created/pending",
            "order_status_changed/", "", "order_created@team", "@user", "order_status_changed/@user",
        ])
    func wrongType(_ key: String) {
        #expect(
            problems(ofTexts: #"{"\#(key)":{"title":"a","body":"b"}}"#) == [
                "languages.en.\(key) is no event type; allowed are order_created, order_status_changed, timeslot_started, "
                    + "unpicked_orders_reminder, order_ids_listed and order_status_changed/ with a status, each also with "
                    + "@place, @user, @channel or @device"
            ])
    }

    @Test("§5.7: a type of the settings is allowed, and only in its texts the members that it adds")
    func ownType() {
        let late = (type: OwnEventType("late", at: 0, order: .required, state: .kept), members: ["reason"])
        let text = #"{"title":"{reason} {order_id}","body":"b"}"#
        #expect(problems(ofTexts: #"{"late":\#(text),"late@user":\#(text)}"#, own: [late]).isEmpty)
        let found = problems(
            ofTexts:
                #"{"order_created":\#(text),"late/picked":{"title":"","body":""},"late":{"title":"{reasons}","body":""}}"#,
            own: [late])
        #expect(found.count == 3)
        #expect(found[0].hasPrefix("languages.en.order_created.title has '{reason}', which is no member"))
        #expect(found[1].hasPrefix("languages.en.late/picked is no event type; allowed are order_created, "))
        #expect(found[1].contains("order_ids_listed, late and order_status_changed/ with a status"))
        #expect(found[2].hasSuffix("order_number, reason"))
    }

    @Test(
        "an unknown placeholder says which are allowed",
        arguments: ["", "name", "Visible_id", " visible_id", "order.id"])
    func wrongPlaceholder(_ name: String) {
        let found = problems(ofTexts: #"{"order_created":{"title":"a{\#(name)}","body":"b"}}"#)
        #expect(
            found == [
                "languages.en.order_created.title has '{\(name)}', which is no member of the payload; allowed are "
                    + "message_id, order_id, parent_order_id, visible_id, event_type, delivery_date, start_time, end_time, "
                    + "place_id, previous_status, new_status, order_number"
            ])
    }

    @Test("all problems are found at once, in the order of the file")
    func all() {
        let found = problems(
            """
            {"default":"fr","languages":{"en":{"order_created":{"title":"{{visible_id}}","body":"{x} {y}"},"x":1},"e n":{}}}
            """)
        #expect(found.count == 8, "\(found)")
        #expect(found.first == "languages.en.order_created.title has a { without its }")
        #expect(found[1] == "languages.en.order_created.title has a } without its {")
        #expect(found.last == "it has the default 'fr', which is not among the languages")
    }
}
