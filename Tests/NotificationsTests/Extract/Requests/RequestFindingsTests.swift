import TestSupport
import Testing

@testable import Notifications

@Suite("Everything that is wrong with a request or a broadcast, at once (docs/rules.md §8.7)")
struct RequestFindingsTests {
    private func findings(_ value: String, rules: RequestRules = RequestRules()) -> [String] {
        lines(extractRequest(value, rules: rules, findings: RequestFindings()).findings)
    }

    private func lines(_ findings: [RequestFinding]) -> [String] {
        findings.map { finding in
            let end = finding.letter.message.firstRange(of: "; allowed")?.lowerBound ?? finding.letter.message.endIndex
            return "\(finding.pointer): \(finding.letter.message[..<end])"
        }
    }

    @Test("each member that is wrong is found, with its place, in the order in which they are checked")
    func app() {
        let found = findings(
            #"""
            {"x/y~z":1,"colapse_key":null,"requested_at":"soon","expires_at":false,"request_id":{},"collapse_key":17,
             "priority":"urgent","audience":["user/1","team/7",5],
             "app":{"titel":"a","title":7,"imageUrl":"ic","data":{"type":"FinoDisconnected","action":"added",
                    "service":1,"aps":1,"":2,"google.x":3,"imageUrl":"z"}}}
            """#)
        #expect(
            found == [
                #"/x~1y~0z: "x/y~z" is not a member of the request"#,
                #"/colapse_key: "colapse_key" is not a member of the request"#,
                #"/requested_at: requested_at is "soon""#, "/expires_at: expires_at is a boolean",
                "/request_id: request_id is an object", "/collapse_key: collapse_key is a number",
                #"/priority: priority is "urgent""#, #"/audience/1: audience[1] is "team/7""#,
                "/audience/2: audience[2] is a number", #"/app/titel: "titel" is not a member of app"#,
                "/app/title: app.title is a number", "/app/body: app.body is missing",
                #"/app/imageUrl: app.imageUrl is "ic""#, #"/app/data/aps: "aps" in app.data is reserved for APNs"#,
                "/app/data/: app.data has an empty key",
                #"/app/data/google.x: "google.x" in app.data is reserved for FCM"#,
                "/app/imageUrl: app.imageUrl and app.data.imageUrl are both there",
                #"/app/data/service: app.data.service is "1"; the type FinoDisconnected has "fino""#,
                #"/app/data/action: app.data.action is "added"; the type FinoDisconnected has "deleted""#,
            ])
    }

    @Test("the same for a message")
    func message() {
        let found = findings(
            #"""
            {"audience":"place/","collapse_key":"a","expires_at":1751875337,
             "message":{"titleLocArgs":["a",1,true],"bodyLocArgs":"b","badge":-1,"sound":[],"collapseKey":"b",
                        "validUntil":1751875338,"extras":{"type":1,"order_type":"food","order_id":7},"silent":true}}
            """#)
        #expect(
            found == [
                #"/audience: audience is "place/""#, "/message/titleLocArgs/1: message.titleLocArgs[1] is a number",
                "/message/titleLocArgs/2: message.titleLocArgs[2] is a boolean",
                "/message/titleLocArgs: message.titleLocArgs is there without titleLocKey",
                "/message/bodyLocArgs: message.bodyLocArgs is a string", "/message/badge: message.badge is -1",
                "/message/sound: message.sound is a list",
                #"/message/extras/type: "type" in message.extras is reserved for other kinds of push"#,
                "/message: message is silent, but its order_type and order_id are a deep link, which needs an alert to tap",
                "/collapse_key: collapse_key and message.collapseKey are both there",
                "/expires_at: expires_at and message.validUntil are both there",
            ])
    }

    @Test(
        "what depends on a member that is refused is not checked",
        arguments: [
            (#"{"audience":"user/1","app":{},"message":{}}"#, [": the request has app and message"]),
            (#"{"audience":7}"#, ["/audience: audience is a number", ": the request has neither app nor message"]),
            (#"{"audience":"user/1","app":"x"}"#, ["/app: app is a string"]),
            (
                #"{"audience":"user/1","app":{"data":[],"imageUrl":3}}"#,
                [
                    "/app/title: app.title is missing", "/app/body: app.body is missing",
                    "/app/imageUrl: app.imageUrl is a number", "/app/data: app.data is a list",
                ]
            ),
            (
                #"{"audience":"user/1","app":{"title":"a","body":"b","data":{"type":true,"aps":1}}}"#,
                [
                    #"/app/data/aps: "aps" in app.data is reserved for APNs"#,
                    "/app/data/type: app.data.type is a boolean",
                ]
            ),
            (#"{"audience":"user/1","message":{"silent":"no"}}"#, ["/message/silent: message.silent is a string"]),
            (#"{"audience":"user/1","message":{"title":7}}"#, ["/message/title: message.title is a number"]),
            (
                #"{"audience":[],"message":{}}"#,
                ["/audience: audience has 0 entries", "/message: message has neither a title nor a body"]
            ),
            (#"[1]"#, [": the body is not a JSON object"]), (#"{"audience":"#, [": the value is not JSON"]),
            (#"{"audience":"user/1","message":{"title":"a"}}"#, []),
        ] as [(String, [String])])
    func dependent(value: String, expected: [String]) {
        #expect(findings(value) == expected)
    }

    @Test("the settings refuse as well: every audience that is not permitted, and a type that is not known")
    func settings() {
        let found = findings(
            #"{"audience":["user/1","channel/a","place/2"],"app":{"title":"a","body":"b","data":{"type":"Nope"}}}"#,
            rules: RequestRules(unknownTypes: .deadLetter, audiences: ["channel/*"]))
        #expect(
            found == [
                #"/audience/0: audience[0] is "user/1"; requests.audiences allows channel/*"#,
                #"/audience/2: audience[2] is "place/2"; requests.audiences allows channel/*"#,
                #"/app/data/type: "Nope" is no type of app notification, such as NewBill"#,
            ])
    }

    @Test("a hundred findings are kept, each once")
    func most() {
        let unknown = (0..<150).map { #""x\#($0)":1,"x\#($0)":2"# }.joined(separator: ",")
        let found = findings("{\"audience\":\"user/1\",\(unknown)}")
        #expect(found.count == RequestFindings.most && Set(found).count == RequestFindings.most)
        #expect(found.last?.hasPrefix("/x99: ") == true)
    }

    @Test("a name is escaped in a JSON pointer")
    func pointer() {
        #expect(RequestFinding.escape("a/b~c~1") == "a~1b~0c~01")
        #expect(RequestFinding.escape("a.b") == "a.b")
    }

    @Test("all problems of a broadcast")
    func broadcast() {
        let found = extractBroadcast(
            #"""
            {"actiontype":"display","notificationid":true,"expiry":"soon","type":"maybe","channel":"a","audience":"user/1",
             "poster":"http://x","data":"x","other":1,"published_at":"now",
             "fields":[{"language":"de","title":7,"msg":"m","x":1},5,{"language":"!","title":"t"},
                       {"language":"DE","title":"t","msg":"m"}]}
            """#, findings: RequestFindings()
        ).findings
        #expect(
            lines(found) == [
                #"/other: "other" is not a member of a display broadcast"#,
                #"/data: "data" is not a member of a display broadcast"#,
                "/notificationid: notificationid is a boolean", "/audience: audience and channel are both there",
                #"/published_at: published_at is "now""#, #"/expiry: expiry is "soon""#,
                "/notificationtype: notificationtype is missing", #"/type: type is "maybe""#,
                #"/poster: poster is "http://x""#, #"/fields/0/x: "x" is not a member of fields[0]"#,
                "/fields/0/title: fields[0].title is a number", "/fields/1: fields[1] is a number",
                #"/fields/2/language: fields[2].language is "!""#, "/fields/2/msg: fields[2].msg is missing",
                #"/fields/3/language: fields[3].language is "DE", which fields[0] has"#,
            ])
        let other = extractBroadcast(
            #"{"actiontype":"non-display","notificationtype":"general","notificationid":"1236","expiry":"9999999999999millis","data":5}"#,
            findings: RequestFindings()
        ).findings
        #expect(
            lines(other) == [
                #"/notificationid: the key is "1235""#,
                "/expiry: expiry is 9999999999999 ms after published_at",
                #"/notificationtype: "general" is no notificationtype of a non-display broadcast"#,
                "/data: data is a number",
            ])
    }

    @Test("where nobody collects, the dead letter of a broadcast is the first finding", arguments: [1, 2] as [UInt64])
    func firstOfBroadcasts(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let leaves = [
            "null", "1", "\"\"", "\"x\"", "[]", "{}", "[1,{\"language\":\"de\"}]", "\"display\"", "\"5millis\"",
        ]
        let names = [
            "actiontype", "notificationtype", "notificationid", "expiry", "type", "channel", "poster", "fields", "data",
            "audience", "published_at", "other",
        ]
        var several = 0
        for number in 0..<1_000 {
            var members = [#""actiontype":"\#(Bool.random(using: &random) ? "display" : "non-display")""#]
            for name in names where Int.random(in: 0..<3, using: &random) == 0 {
                members.append("\"\(name)\":\(leaves[Int.random(in: 0..<leaves.count, using: &random)])")
            }
            let value = "{\(members.joined(separator: ","))}"
            let alone = extractBroadcast(value)
            let collected = extractBroadcast(value, findings: RequestFindings())
            #expect(collected.published == alone.published, "seed \(seed), broadcast \(number)")
            #expect(collected.deadLetter == alone.deadLetter, "seed \(seed), broadcast \(number)")
            #expect(collected.findings.first?.letter == alone.deadLetter, "seed \(seed), broadcast \(number)")
            if collected.findings.count > 2 { several += 1 }
        }
        #expect(several > 300)
    }
}
