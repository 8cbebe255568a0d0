import Notifications
import Registrar
import Testing

@testable import API

@Suite("API: the body of a device") struct DeviceBodyTests {
    private let id: DeviceID

    init() throws { id = try #require(DeviceID("installation-0001")) }

    private func read(_ text: String) throws(Problem) -> DeviceChange {
        try DeviceBody.read(Array(text.utf8), of: id, isWhole: true)
    }

    @Test("it is the whole device: what is absent, or null, is removed")
    func whole() throws {
        let change = try read(
            #"""
            {"address":{"kind":"installation_id","value":"fid-1"},"app":"com.example.shop","environment":"development",
             "locale":"de","time_zone":"Europe/Berlin","person":"17","audiences":["place/42"],"generation":3}
            """#)
        var expected = DeviceChange(id, isWhole: true)
        expected.address = .set(.init(.installationID, "fid-1"))
        (expected.app, expected.environment) = ("com.example.shop", .development)
        (expected.locale, expected.timeZone, expected.person) = (.set("de"), .set("Europe/Berlin"), .set("17"))
        (expected.audiences, expected.generation) = (["place/42"], 3)
        #expect(change == expected)

        let least = try read(#"{"app":"a","address":null,"locale":null,"person":null,"environment":null}"#)
        #expect(least.isWhole && least.address == .remove && least.locale == .remove && least.person == .remove)
        #expect(least.environment == nil && least.audiences == nil)
    }

    @Test("everything that is wrong is told at once, each with its place, and no address is repeated")
    func wrong() {
        let problem = #expect(throws: Problem.self) {
            try read(
                #"""
                {"address":{"kind":"sms","value":"secret-1"},"environment":"test","locale":7,"audiences":"place/42",
                 "generation":1.5,"token":"secret-2"}
                """#)
        }
        #expect(problem?.code == .badRequest)
        #expect(
            problem?.faults.map(\.pointer) == [
                "/address", "/environment", "/locale", "/audiences", "/generation", "/token", "/app",
            ])
        #expect(problem.map { "\($0)" }?.contains("secret") == false)
    }

    @Test(
        "the environment of an APNs token is never guessed, and a placeholder is no address, nor any text a time zone",
        arguments: [
            (#""address":{"kind":"apns_token","value":"0a0b"}"#, ["/environment"]),
            (#""address":{"kind":"apns_token","value":"0a0b"},"environment":null"#, ["/environment"]),
            (#""address":{"kind":"apns_token","value":"0a0b"},"environment":"development""#, []),
            (#""address":{"kind":"registration_token","value":"token-a"}"#, []),
            (#""address":{"kind":"registration_token","value":"undefined"}"#, ["/address"]),
            (#""address":{"kind":"registration_token","value":"(null)"}"#, ["/address"]),
            (#""time_zone":"CET+1""#, ["/time_zone"]), (#""time_zone":"../../etc/passwd""#, ["/time_zone"]),
            (#""time_zone":"Europe/../Paris""#, ["/time_zone"]), (#""time_zone":"Asia/Calcutta""#, []),
            (#""time_zone":"Etc/GMT+5""#, []), (#""time_zone":"UTC""#, []), (#""time_zone":"Europe/Berlin""#, []),
            (#""generation":9007199254740991"#, []), (#""generation":9007199254740992"#, ["/generation"]),
        ])
    func neverGuessed(members: String, faults: [String]) throws {
        let text = #"{"app":"a",\#(members)}"#
        guard !faults.isEmpty else {
            _ = try read(text)
            return
        }
        let problem = #expect(throws: Problem.self) { try read(text) }
        #expect(problem?.faults.map(\.pointer) == faults)
    }

    @Test(
        "what is no object, an address with more than its members, and a member that is there twice are refused",
        arguments: [
            ("[]", ProblemCode.badRequest), ("{", .notJSON), (#"{"app":"a","app":"b"}"#, .duplicateMember),
            (#"{"app":"a","address":{"kind":"apns_token","value":"0a","more":1}}"#, .badRequest),
            (#"{"app":"a","address":{"kind":"apns_token"}}"#, .badRequest), (#"{"app":null}"#, .badRequest),
            (#"{"app":"a","audiences":["place/1",2]}"#, .badRequest),
            (#"{"app":"a","audiences":null}"#, .badRequest),
        ])
    func refused(text: String, code: ProblemCode) {
        let problem = #expect(throws: Problem.self) { try read(text) }
        #expect(problem?.code == code)
    }
}
