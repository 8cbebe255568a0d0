import HTTPServer
import Notifications
import Testing

@testable import API
@testable import Registrar

@Suite("API: devices, with a registrar behind them") struct DeviceEndpointsTests {
    private let desk: PlayedDesk
    private let path = PlayedDesk.path

    init() throws { desk = try PlayedDesk() }

    private var device: DeviceState? {
        get throws { try desk.registrar.view.device(try #require(DeviceID(PlayedDesk.phone))) }
    }

    @Test("the first PUT's answer has the secret of the device credential, once, and the command only its hash")
    func secret() throws {
        let answer = desk.ask("PUT", path, PlayedDesk.body())
        let secret = try #require(answer.member("secret"))
        #expect(answer.status == .created && secret.utf8.count == 43)
        #expect(try device?.credential == DeviceCredential.hash(of: secret))
        let recorded = try #require(desk.registrar.recorded.first)
        #expect(!String(decoding: recorded.json, as: UTF8.self).contains(secret))
        let again = desk.ask("PUT", path, PlayedDesk.body())
        #expect(again.status == .ok && again.member("secret") == nil)
        #expect(desk.ask("GET", path).member("secret") == nil)
        #expect(try device?.credential == DeviceCredential.hash(of: secret))
    }

    @Test("an app whose answer was lost asks for a new secret, with the present address; without it a user gets none")
    func newSecret() throws {
        let user = try desk.user("17")
        let lost = desk.register(as: user)
        let answer = desk.ask("PUT", path + "?new_secret=1", PlayedDesk.body(), as: user)
        #expect(answer.status == .ok && answer.member("secret") != nil)
        #expect(desk.ask("GET", path, as: lost).status == .notFound)
        #expect(desk.ask("GET", path, as: "Device \(PlayedDesk.phone):\(answer.member("secret") ?? "")").status == .ok)
        #expect(desk.ask("PUT", path + "?new_secret=1", PlayedDesk.body("fid-2"), as: user).status == .notFound)
        #expect(desk.ask("PUT", path, PlayedDesk.body("fid-2"), as: user).status == .ok)
        #expect(desk.ask("PUT", path + "?new_secret=1", PlayedDesk.body("fid-2"), as: user).status == .ok)
        #expect(desk.ask("PUT", path + "?new_secret=yes", PlayedDesk.body("fid-2")).status == .badRequest)
    }

    @Test("a user registers 20 new devices within a day, also after logouts; those that are there, and a key, go on")
    func newDevices() throws {
        let (user, other) = (try desk.user("17"), try desk.user("18"))
        func put(_ number: Int, as authorization: String? = nil) -> HTTPResponse.Status {
            let path = "/v1/devices/installation-\(1_000 + number)"
            defer { _ = desk.ask("DELETE", path + "/person", as: authorization) }
            return desk.ask("PUT", path, PlayedDesk.body("fid-\(number)"), as: authorization).status
        }
        for number in 0..<20 { #expect(put(number, as: user) == .created) }
        let refused = desk.ask("PUT", "/v1/devices/installation-1020", PlayedDesk.body("fid-20"), as: user)
        #expect(refused.status == .tooManyRequests && refused.header("Retry-After") == "3600")
        #expect(put(7, as: user) == .ok && put(20, as: other) == .created && put(21) == .created)
        desk.registrar.now.withLock { $0 = $0 + 86_400_000 }
        // The token is a day old by then.
        let later = try desk.user("17", issued: desk.registrar.now.withLock { $0 })
        #expect(put(22, as: later) == .created)
    }

    @Test("where it is not known what there is, a PUT makes no credential unless it asks for one")
    func unknown() throws {
        desk.registrar.view.reached(nil)
        #expect(desk.ask("PUT", path, PlayedDesk.body()).member("secret") == nil)
        #expect(try device?.credential == nil)
        #expect(desk.ask("PUT", path + "?new_secret=1", PlayedDesk.body()).member("secret") != nil)
    }

    @Test(
        "a device credential moves the address, changes locale and time zone, reads its device, logs out, unregisters")
    func credential() throws {
        let credential = desk.register(as: try desk.user("17"), #","audiences":["place/42","channel/General"]"#)
        #expect(
            desk.ask(
                "PATCH", path, #"{"address":{"kind":"installation_id","value":"fid-2"},"locale":"de"}"#, as: credential
            )
            .status == .ok)
        #expect(try device?.live?.value == "fid-2" && device?.locale == "de")
        let shown = desk.ask("GET", path, as: credential)
        #expect(shown.status == .ok && shown.body.contains("place/42"))
        #expect(desk.ask("DELETE", path + "/audiences/channel%2FGeneral", as: credential).status == .noContent)
        #expect(desk.ask("DELETE", path + "/person", as: credential).status == .noContent)
        #expect(desk.ask("DELETE", path + "/person", as: credential).status == .noContent)
        #expect(try device?.person == nil && device?.audiences == [])
        #expect(desk.ask("DELETE", path, as: credential).status == .noContent)
        #expect(try device == nil)
    }

    @Test("it adds and sets nothing, and is for no other device and no other operation")
    func onlyReduces() throws {
        let credential = desk.register()
        for body in [
            #"{"person":"17"}"#, #"{"audiences":["place/42"]}"#, #"{"app":"com.example.other"}"#,
            #"{"environment":"development"}"#,
        ] {
            let answer = desk.ask("PATCH", path, body, as: credential)
            #expect(answer.status == .forbidden && answer.member("code") == "scope", "\(body)")
        }
        #expect(desk.ask("PUT", path, PlayedDesk.body(), as: credential).status == .unauthorized)
        #expect(desk.ask("PUT", path + "/audiences/place%2F42", as: credential).status == .unauthorized)
        #expect(desk.ask("GET", "/v1/people/17", as: credential).status == .unauthorized)
        #expect(desk.ask("GET", "/v1/devices/installation-0002", as: credential).status == .notFound)
        let other = "Device installation-0001:" + String(repeating: "x", count: 43)
        #expect(desk.ask("GET", path, as: other).status == .notFound)
        #expect(desk.ask("DELETE", path, as: other).status == .notFound)
        for text in ["Device", "Device x", "Device installation-0001:short", "Device :\(other)"] {
            #expect(desk.ask("GET", path, as: text).status == .unauthorized, "\(text)")
        }
    }

    @Test("what is granted to the person is not shown to whoever has the device")
    func granted() throws {
        #expect(desk.ask("PUT", "/v1/people/17/audiences", #"["place/7"]"#).status == .ok)
        let credential = desk.register(as: try desk.user("17"))
        #expect(desk.ask("GET", path).body.contains("place/7"))
        #expect(!desk.ask("GET", path, as: credential).body.contains("place/7"))
    }

    @Test("a minute has 60 credentials from one address that nobody knows, and then none is asked about")
    func attacks() throws {
        let credential = desk.register()
        for _ in 0..<60 {
            #expect(
                desk.ask("GET", path, as: "Device installation-0001:" + APIKey.randomDigits(43)).status == .notFound)
        }
        let answer = desk.ask("GET", path, as: "Device installation-0001:" + APIKey.randomDigits(43))
        #expect(answer.status == .tooManyRequests)
        #expect(desk.ask("GET", path, as: credential).status == .ok)
    }

    @Test("a PATCH changes what it names, and null removes")
    func patch() throws {
        _ = desk.register("fid-1", #","locale":"de","time_zone":"Europe/Berlin","audiences":["place/42"]"#)
        let answer = desk.ask(
            "PATCH", path, #"{"time_zone":null,"generation":2}"#, ["content-type": "application/merge-patch+json"])
        #expect(answer.status == .ok && answer.header("ETag") == "\"1\"")
        #expect(try device?.locale == "de" && device?.timeZone == nil && device?.audiences == ["place/42"])
        #expect(desk.ask("PATCH", path, #"{"audiences":null,"address":null}"#).status == .ok)
        #expect(try device?.audiences == [] && device?.live == nil && device?.app == "com.example.shop")
        #expect(desk.ask("PATCH", path, #"{"generation":1}"#).member("code") == "stale-generation")
        #expect(desk.ask("PATCH", path, #"{"app":null}"#).status == .unprocessableContent)
        #expect(desk.ask("PATCH", path, #"{"locale":"en"}"#, ["if-match": "\"0\""]).status == .preconditionFailed)
        #expect(desk.ask("PATCH", "/v1/devices/installation-0002", "{}").status == .notFound)
        #expect(desk.ask("PATCH", path, "{}", ["content-type": "text/plain"]).status == .unsupportedMediaType)
    }

    @Test("a user who asks for audiences is logged in, and with a logout only channels stay")
    func patchOfUser() throws {
        let user = try desk.user("17", #"["place/42","channel/General"]"#)
        _ = desk.register("fid-1", as: user)
        #expect(desk.ask("PATCH", path, #"{"audiences":["place/43"]}"#, as: user).status == .forbidden)
        #expect(desk.ask("PATCH", path, #"{"person":"18"}"#, as: user).status == .forbidden)
        #expect(desk.ask("PATCH", path, #"{"audiences":["place/42","channel/General"]}"#, as: user).status == .ok)
        #expect(desk.ask("PATCH", path, #"{"person":null,"audiences":["place/42"]}"#, as: user).status == .forbidden)
        // Nobody's by then, so that what it has is not for the user.
        #expect(desk.ask("PATCH", path, #"{"person":null}"#, as: user).status == .noContent)
        #expect(try device?.person == nil && device?.audiences == ["channel/General"])
        #expect(desk.ask("PATCH", path, #"{"locale":"de"}"#, as: user).status == .notFound)
    }

    @Test("one audience is added and removed by its path, decoded once; others are no audiences of a device")
    func audiences() throws {
        _ = desk.register()
        #expect(desk.ask("PUT", path + "/audiences/place%2F42").status == .ok)
        #expect(desk.ask("PUT", path + "/audiences/channel%2Fa%252Fb").status == .ok)
        #expect(try device?.audiences == ["channel/a%2Fb", "place/42"])
        #expect(desk.ask("DELETE", path + "/audiences/place%2F42").status == .noContent)
        #expect(desk.ask("DELETE", path + "/audiences/place%2F42").status == .noContent)
        #expect(try device?.audiences == ["channel/a%2Fb"])
        for audience in ["user%2F17", "device%2F0", "place", "place%2F", "team%2F7"] {
            #expect(desk.ask("PUT", path + "/audiences/\(audience)").status == .badRequest, "\(audience)")
        }
        #expect(desk.ask("PUT", path + "/audiences/place/42").status == .notFound)
        #expect(desk.ask("PUT", "/v1/devices/installation-0002/audiences/place%2F42").status == .notFound)
        let user = try desk.user("17", #"["place/42"]"#)
        #expect(desk.ask("PUT", path + "/audiences/place%2F43", as: user).status == .forbidden)
        #expect(desk.ask("PUT", path + "/audiences/place%2F42", as: user).status == .notFound)
    }

    @Test("without a registrar it is recorded, and the answer says where to ask; no secret is told")
    func recorded() throws {
        desk.registrar.decides.withLock { $0 = false }
        let answer = desk.ask("PUT", path, PlayedDesk.body())
        #expect(answer.status == .accepted && answer.body == #"{"command":0,"status":"recorded"}"#)
        #expect(answer.header("Location") == "/v1/commands/0" && answer.header("Retry-After") == "1")
        #expect(answer.header("Carillon-Position") == nil)
    }

    @Test("what is so already is answered without a command, for whoever may change it, as long as it was seen today")
    func unchanged() throws {
        let (user, other) = (try desk.user("17"), try desk.user("18"))
        _ = desk.register(as: user)
        let body = PlayedDesk.body()
        let answer = desk.ask("PUT", path, body, as: user)
        #expect(answer.status == .ok && answer.header("ETag") == "\"0\"" && answer.body.contains("17"))
        // That of its last change, whose answer may have been lost.
        #expect(answer.header("Carillon-Position") == "0")
        #expect(desk.registrar.recorded.count == 1)
        #expect(desk.metrics.snapshot().value("carillon_api_unchanged_devices_total") == .counter(1))
        // Only the registrar says these.
        for (number, asked) in [
            (["if-match": "\"0\""], "", HTTPResponse.Status.ok), (["if-none-match": "*"], "", .preconditionFailed),
            ([:], #","generation":7"#, .ok), ([:], #","generation":6"#, .conflict),
        ].enumerated() {
            #expect(desk.ask("PUT", path, PlayedDesk.body("fid-1", asked.1), as: user, asked.0).status == asked.2)
            #expect(desk.registrar.recorded.count == number + 2, "\(asked)")
        }
        let same = PlayedDesk.body("fid-1", #","generation":7"#)
        for count in [6, 6] {
            #expect(desk.ask("PUT", path, same, as: other).status == .ok)
            #expect(desk.registrar.recorded.count == count)
        }
        desk.registrar.view.reached(.now - .seconds(3_600))
        #expect(desk.ask("PUT", path, same, as: other).status == .ok && desk.registrar.recorded.count == 7)
        desk.registrar.view.reached(.now + .seconds(3_600))
        desk.registrar.now.withLock { $0 = $0 + 86_400_000 }
        let again = PlayedDesk.body("fid-1", #","generation":7,"person":"18""#)
        for count in [8, 8] {
            #expect(desk.ask("PUT", path, again).status == .ok)
            #expect(desk.registrar.recorded.count == count)
        }
    }

    @Test("a decided answer has its position, and a GET takes it: what it names is known here")
    func position() throws {
        _ = desk.register()
        let answer = desk.ask("PATCH", path, #"{"locale":"de"}"#)
        #expect(answer.header("Carillon-Position") == "1")
        #expect(desk.ask("PATCH", path, #"{"app":null,"locale":1}"#).header("Carillon-Position") == nil)
        desk.registrar.view.reached(.now)
        #expect(desk.ask("GET", path, "", ["carillon-after": "1"]).status == .ok)
        for text in ["x", "-1", "+1", "", "1000000000000000000"] {
            #expect(desk.ask("GET", path, "", ["carillon-after": text]).member("code") == "bad-header", "\(text)")
        }
    }

    @Test("whoever has the address of another's phone takes it over, and else changes and learns nothing of it")
    func others() throws {
        let desk = try PlayedDesk()
        let (ada, ben) = (try desk.user("ada"), try desk.user("ben"))
        #expect(desk.ask("PUT", PlayedDesk.path, PlayedDesk.body(), as: ada).status == .created)
        let address = #"{"address":{"kind":"installation_id","value":"fid-1"},"locale":"de"}"#
        #expect(desk.ask("PATCH", PlayedDesk.path, address, as: ben).status == .notFound)
        #expect(!desk.ask("GET", PlayedDesk.path, as: ada).body.contains("\"locale\":\"de\""))
        // The first logout, and any user's repeat of it, say no more than that nobody is logged in.
        for user in [ada, ada, ben] {
            let answer = desk.ask("PATCH", PlayedDesk.path, #"{"person":null}"#, as: user)
            #expect(answer.status == .noContent && answer.body.isEmpty)
        }
    }

    @Test("a generation is what every reader of JSON can count", arguments: ["-1", "9007199254740992", "1.5", "\"1\""])
    func generation(_ value: String) throws {
        let desk = try PlayedDesk()
        let answer = desk.ask("PUT", PlayedDesk.path, PlayedDesk.body("fid-1", #","generation":\#(value)"#))
        #expect(answer.status == .unprocessableContent && answer.body.contains("/generation"))
        let most = PlayedDesk.body("fid-1", #","generation":9007199254740991"#)
        #expect(desk.ask("PUT", PlayedDesk.path, most).status == .created)
    }
}
