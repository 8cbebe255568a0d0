import HTTPServer
import Notifications
import Testing

@testable import API
@testable import Registrar

@Suite("API: people, with a registrar behind them") struct PersonEndpointsTests {
    private let desk: PlayedDesk

    init() throws { desk = try PlayedDesk() }

    private func register(_ device: String, _ person: String) {
        let body = PlayedDesk.body("fid-\(device)", #","person":"\#(person)","audiences":["channel/offers","place/7"]"#)
        #expect(desk.ask("PUT", "/v1/devices/\(device)", body).status == .created)
    }

    private func person(_ device: String) throws -> ByteText? {
        try desk.registrar.view.device(try #require(DeviceID(device)))?.person
    }

    @Test("the backend grants audiences, on every device, also on one that comes later, and takes them away")
    func audiences() throws {
        let answer = desk.ask("PUT", "/v1/people/17/audiences", #"["place/42","channel/b"]"#)
        #expect(answer.status == .ok && answer.body == #"{"audiences":["channel/b","place/42"]}"#)
        #expect(answer.header("ETag") == "\"0\"")
        #expect(desk.ask("GET", "/v1/people/17/audiences").body == answer.body)
        register("installation-0001", "17")
        #expect(
            desk.ask("GET", "/v1/devices/installation-0001").body.contains(
                #""person_audiences":["channel/b","place/42"]"#))
        #expect(desk.ask("PUT", "/v1/people/17/audiences", "[]", ["if-match": "\"7\""]).status == .preconditionFailed)
        #expect(desk.ask("PUT", "/v1/people/17/audiences", "[]", ["if-match": "\"0\""]).body == #"{"audiences":[]}"#)
        for body in [#"{"audiences":[]}"#, "[7]", #"["user/18"]"#] {
            #expect(desk.ask("PUT", "/v1/people/17/audiences", body).status == .unprocessableContent, "\(body)")
        }
        #expect(desk.ask("PUT", "/v1/people/17/audiences", "[]", as: try desk.user("17")).status == .unauthorized)
    }

    @Test("a person is what was set, and on how many devices; nobody is 404")
    func known() throws {
        #expect(desk.ask("GET", "/v1/people/17").status == .notFound)
        register("installation-0001", "17")
        #expect(desk.ask("GET", "/v1/people/17").body == #"{"person":"17","audiences":[],"devices":1}"#)
        let patch = desk.ask(
            "PATCH", "/v1/people/17", #"{"locale":"de","time_zone":"Europe/Berlin","audiences":["place/1"]}"#)
        #expect(patch.status == .ok)
        #expect(
            patch.body
                == #"{"person":"17","revision":1,"locale":"de","time_zone":"Europe/Berlin","audiences":["place/1"],"devices":1}"#
        )
        #expect(desk.ask("PATCH", "/v1/people/17", #"{"locale":null}"#).header("ETag") == "\"2\"")
        #expect(desk.ask("GET", "/v1/people/17").body.contains("locale") == false)
        for body in ["[]", #"{"locale":7}"#, #"{"name":"x"}"#] {
            #expect(desk.ask("PATCH", "/v1/people/17", body).status == .unprocessableContent, "\(body)")
        }
    }

    @Test("users see and change their own, without audiences; nobody else's")
    func users() throws {
        register("installation-0001", "17")
        let (own, other) = (try desk.user("17"), try desk.user("18"))
        #expect(desk.ask("GET", "/v1/people/17", as: own).status == .ok)
        #expect(desk.ask("PATCH", "/v1/people/17", #"{"locale":"de"}"#, as: own).status == .ok)
        #expect(desk.ask("PATCH", "/v1/people/17", #"{"audiences":[]}"#, as: own).status == .forbidden)
        #expect(desk.ask("GET", "/v1/people/17/devices", as: own).status == .ok)
        for (method, path, body) in [
            ("GET", "", ""), ("PATCH", "", "{}"), ("GET", "/devices", ""), ("DELETE", "/devices", ""),
            ("DELETE", "/devices/installation-0001", ""),
        ] {
            #expect(desk.ask(method, "/v1/people/17\(path)", body, as: other).status == .notFound, "\(method) \(path)")
        }
        #expect(try person("installation-0001") == "17")
    }

    @Test("where a person is logged in comes in pages, in the order of the ids")
    func pages() throws {
        for number in 0..<5 { register("installation-000\(number)", "17") }
        register("installation-0009", "18")
        var (ids, target): ([String], String?) = ([], "/v1/people/17/devices?limit=2")
        while let page = target {
            let answer = desk.ask("GET", page)
            ids += answer.body.matches(of: #/"device":"([^"]+)"/#).map { String($0.1) }
            target = answer.member("next").map { "/v1/people/17/devices?limit=2&cursor=\($0)" }
        }
        #expect(ids == (0..<5).map { "installation-000\($0)" })
        #expect(desk.ask("GET", "/v1/people/19/devices").body == #"{"items":[]}"#)
        for limit in ["0", "1001", "x"] {
            #expect(desk.ask("GET", "/v1/people/17/devices?limit=\(limit)").status == .badRequest)
        }
    }

    @Test("a person is logged out from elsewhere, on one device and on all; whoever came since stays logged in")
    func logOut() throws {
        for number in 0..<3 { register("installation-000\(number)", "17") }
        let own = try desk.user("17")
        for _ in 0..<2 {
            #expect(desk.ask("DELETE", "/v1/people/17/devices/installation-0000", as: own).status == .noContent)
        }
        #expect(try person("installation-0000") == nil)
        register("installation-0009", "18")
        // The command comes after another person's login.
        #expect(desk.ask("DELETE", "/v1/people/17/devices/installation-0009").status == .noContent)
        #expect(try person("installation-0009") == "18")
        let bound = try desk.user("17", device: DeviceID("installation-0001"))
        #expect(desk.ask("DELETE", "/v1/people/17/devices/installation-0002", as: bound).status == .notFound)
        #expect(desk.ask("DELETE", "/v1/people/17/devices", as: bound).status == .notFound)
        #expect(desk.ask("DELETE", "/v1/people/17/devices", as: own).status == .noContent)
        #expect(desk.ask("DELETE", "/v1/people/17/devices", as: own).status == .noContent)
        #expect(try person("installation-0001") == nil && person("installation-0002") == nil)
    }

    @Test("without a registrar all logouts are recorded, and the answer is that of the last")
    func recorded() throws {
        for number in 0..<3 { register("installation-000\(number)", "17") }
        desk.registrar.decides.withLock { $0 = false }
        let answer = desk.ask("DELETE", "/v1/people/17/devices")
        #expect(answer.status == .accepted && answer.body == #"{"command":5,"status":"recorded"}"#)
    }
}
