import HTTPServer
import Notifications
import Testing

@testable import API
@testable import Registrar

@Suite("API: many devices at once, with a registrar behind them") struct DeviceBulkEndpointsTests {
    private let desk: PlayedDesk

    init() throws { desk = try PlayedDesk() }

    private func importAll(_ lines: [String], _ query: String = "") -> HTTPResponse {
        desk.ask(
            "POST", "/v1/devices:import" + query, lines.joined(separator: "\n"),
            ["content-type": "application/x-ndjson"])
    }

    private func line(_ number: Int, _ more: String = "") -> String {
        let id = "installation-" + String(10_000 + number)
        return
            #"{"device":"\#(id)","app":"a","address":{"kind":"installation_id","value":"fid-\#(number)"}\#(more)}"#
    }

    @Test("each line is a whole device, and is recorded; blank lines are none")
    func all() throws {
        let answer = importAll((0..<1_500).map { line($0, #","locale":"de""#) } + ["", "  \r"])
        #expect(answer.status == .accepted && answer.body == #"{"read":1500,"recorded":1500,"refused":[]}"#)
        #expect(desk.registrar.recorded.count == 1_500)
        #expect(desk.ask("GET", "/v1/devices/installation-10007").body.contains(#""locale":"de""#))
        #expect(importAll([]).body == #"{"read":0,"recorded":0,"refused":[]}"#)
    }

    @Test("a line that cannot be used refuses all, with its number, unless the rest is asked for; no address is told")
    func refused() {
        let lines = [
            line(1), "{", line(2, #","locale":7"#), #"{"app":"a"}"#, line(3, #","generation":"secret""#), line(4),
        ]
        let whole = importAll(lines)
        #expect(whole.status == .unprocessableContent && desk.registrar.recorded.isEmpty)
        #expect(
            whole.body.matches(of: #/"pointer":"([^"]*)"/#).map { $0.1 } == ["/2", "/3/locale", "/4", "/5/generation"])
        let partial = importAll(lines, "?partial=1")
        #expect(partial.status == .accepted && partial.body.contains(#""read":6,"recorded":2"#))
        #expect(partial.body.matches(of: #/"line":(\d)/#).map { $0.1 } == ["2", "3", "4", "5"])
        #expect(!(whole.body + partial.body).contains("fid-"))
        #expect(
            importAll(["[]"] + Array(repeating: "x", count: 500), "?partial=1").body.matches(of: /"line"/).count == 100)
        #expect(importAll([], "?partial=yes").status == .badRequest)
    }

    @Test("a line of whom was erased, or of their address, is refused as that line's fault; a PUT brings them back")
    func erased() {
        let lines = [line(1, #","person":"17""#), line(2, #","person":"18""#)]
        #expect(importAll(lines).status == .accepted)
        #expect(desk.ask("DELETE", "/v1/people/17").status == .ok)
        let before = desk.registrar.recorded.count
        let whole = importAll(lines + [line(1), line(3, #","person":"17""#)])
        #expect(whole.status == .unprocessableContent && desk.registrar.recorded.count == before)
        #expect(whole.body.matches(of: #/"pointer":"([^"]*)"/#).map { $0.1 } == ["/1", "/3", "/4"])
        let partial = importAll(lines, "?partial=1")
        #expect(partial.status == .accepted && partial.body.contains(#""read":2,"recorded":1"#))
        #expect(partial.body.contains(#""line":1,"code":"person-erased","detail":"the person, or"#))
        #expect(desk.ask("GET", "/v1/devices/installation-10001").status == .notFound)
        // What this process does not know yet the registrar does.
        #expect(desk.registrar.recorded.last?.condition == .bringsNobodyBack)
        let body = #"{"app":"a","address":{"kind":"installation_id","value":"fid-1"},"person":"17"}"#
        #expect(desk.ask("PUT", "/v1/devices/installation-10001", body).status == .created)
        #expect(importAll(lines).status == .accepted)
    }

    @Test("a device is found by its address or the hash of it; the body has nothing else")
    func lookUp() throws {
        _ = desk.register("fid-1")
        let hash = AddressHash(of: "fid-1").hex
        for body in [#"{"address":"fid-1"}"#, #"{"address_sha256":"\#(hash)"}"#] {
            let answer = desk.ask("POST", "/v1/devices:lookup", body)
            #expect(answer.status == .ok && answer.member("device") == PlayedDesk.phone)
        }
        #expect(desk.ask("POST", "/v1/devices:lookup", #"{"address":"fid-2"}"#).status == .notFound)
        for body in ["{}", "[]", #"{"address":7}"#, #"{"address_sha256":"x"}"#, #"{"address":"a","more":1}"#] {
            let status = desk.ask("POST", "/v1/devices:lookup", body).status
            #expect(status == .unprocessableContent, "\(body)")
        }
        #expect(desk.ask("POST", "/v1/devices:lookup", "{}", as: try desk.user("17")).status == .unauthorized)
        // What it has left is not its address any more.
        #expect(desk.ask("PATCH", PlayedDesk.path, #"{"address":null}"#).status == .ok)
        #expect(desk.ask("POST", "/v1/devices:lookup", #"{"address":"fid-1"}"#).status == .notFound)
    }
}
