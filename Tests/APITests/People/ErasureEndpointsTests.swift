import HTTPServer
import Notifications
import Synchronization
import Testing

@testable import API
@testable import Registrar

@Suite("API: erasing a person, with a registrar behind it") struct ErasureEndpointsTests {
    private let desk: PlayedDesk

    init() throws {
        desk = try PlayedDesk(settings: [
            "notifications.commands": [
                "cleanup.policy": "delete", "retention.ms": "604800000", "segment.ms": "86400000",
            ],
            "notifications.people": ["cleanup.policy": "compact", "delete.retention.ms": "1"],
        ])
    }

    @Test("the answer has when, how many devices there were, and by topic when nothing is left; null: it is not known")
    func receipt() throws {
        #expect(desk.ask("PUT", "/v1/people/17/audiences", #"["place/42"]"#).status == .ok)
        let credential = desk.register(as: try desk.user("17"))
        let answer = desk.ask("DELETE", "/v1/people/17")
        #expect(answer.status == .ok, "\(answer.body)")
        #expect(answer.member("erased_at") == "2025-11-24T16:00:00.000Z" && answer.body.contains(#""devices":1"#))
        #expect(answer.member("notifications.commands") == "2025-12-02T17:00:00.000Z")
        #expect(answer.body.contains(#""notifications.people":null"#))
        #expect(answer.body.contains(#""notifications.devices":null"#))
        #expect(answer.member("last_push_possible")?.hasPrefix("2025-12-22T16:00") == true)
        #expect(desk.ask("GET", PlayedDesk.path).status == .notFound)
        #expect(desk.ask("GET", PlayedDesk.path, as: credential).status == .notFound)
        #expect(desk.ask("GET", "/v1/people/17").member("erased_at") == "2025-11-24T16:00:00.000Z")
        #expect(desk.ask("PUT", PlayedDesk.path, PlayedDesk.body(), as: try desk.user("17")).status == .gone)
        for path in ["/v1/people/17", "/v1/people/17/devices", PlayedDesk.path] {
            #expect(desk.ask("GET", path, as: try desk.user("17")).status == .gone)
        }
    }

    @Test("with topic.control what is on its way is withdrawn, and the last push is possible a minute later")
    func withdrawn() throws {
        let answer = try PlayedDesk(control: "notifications.control").ask("DELETE", "/v1/people/17")
        #expect(answer.member("last_push_possible") == "2025-11-24T16:01:00.000Z", "\(answer.body)")
    }

    @Test("it may be repeated, and is for nobody of whom nothing is known, too; users and other keys erase nobody")
    func who() throws {
        #expect(desk.ask("DELETE", "/v1/people/18").status == .ok)
        desk.registrar.now.withLock { $0 = $0 + 1 }
        let again = desk.ask("DELETE", "/v1/people/18")
        #expect(again.body.contains(#""devices":0"#) && again.member("erased_at") == "2025-11-24T16:00:00.001Z")
        #expect(desk.ask("DELETE", "/v1/people/18", as: try desk.user("18")).status == .unauthorized)
        #expect(desk.ask("DELETE", "/v1/people/18", "", ["if-match": "*"]).status == .preconditionFailed)
        let other = try PlayedDesk(scopes: [.writePeople, .readPeople])
        #expect(other.ask("DELETE", "/v1/people/18").status == .forbidden)
    }

    @Test("settings of topics are asked for once in five minutes, and again where one is not known")
    func cached() {
        let asked = Mutex(0)
        let settings = TopicSettings(of: ["a", "b"]) { topics in
            let count = asked.withLock { asked in
                asked += 1
                return asked
            }
            return Dictionary(topics.prefix(count).map { ($0, [:]) }) { $1 }
        }
        #expect(settings.known() == nil)
        #expect(settings.renew().count == 1 && settings.known() == nil)
        #expect(settings.renew().count == 2 && settings.known()?.count == 2)
        #expect(settings.known(at: .now + .seconds(301)) == nil)
    }
}
