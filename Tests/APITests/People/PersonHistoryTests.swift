import Notifications
import Registrar
import Testing

@testable import API

@Suite("API: what the log of commands says of a person") struct PersonHistoryTests {
    private func phone(_ change: (inout DeviceChange) -> Void = { _ in }) throws -> Action {
        var device = DeviceChange(try #require(DeviceID(PlayedDesk.phone)))
        change(&device)
        return .changeDevice(device)
    }

    private func history(_ commands: [Command], owning owned: Set<DeviceID> = []) -> [String] {
        var history = PersonHistory(of: "17", owning: owned)
        return commands.enumerated().compactMap { history.take($1, at: Int64($0), Shop.now)?.json }
    }

    @Test("it has what names the person, and what is about a device from the login to the logout, without addresses")
    func lines() throws {
        let (key, other) = (Author.key("backend"), Author.user("18", issuedAt: Shop.now))
        let lines = history([
            Command(try phone { $0.locale = .set("fr") }, by: other),
            Command(
                try phone { change in
                    change.person = .set("17")
                    change.address = .set(.init(.installationID, "fid-secret"))
                }, by: key),
            Command(try phone { $0.locale = .set("de") }, by: .device("0")),
            Command(
                try phone { change in
                    change.person = .set("18")
                    change.locale = .set("en")
                }, by: other),
            Command(try phone { $0.timeZone = .set("Asia/Tokyo") }, by: other),
            Command(.erasePerson("17"), by: key), Command(.erasePerson("18"), by: key),
        ])
        #expect(lines.count == 4, "\(lines)")
        #expect(lines[0].contains(#""position":1"#) && lines[0].contains(AddressHash(of: "fid-secret").hex))
        #expect(lines[1].contains(#""by":"device""#) && lines[1].contains(#""locale":"de""#))
        #expect(lines[2].hasSuffix(#""action":"change_device","device":"installation-0001"}"#))
        #expect(lines[3].contains("erase_person"))
        for secret in ["fid-secret", "Tokyo", "18", "backend"] { #expect(!lines.joined().contains(secret)) }
    }

    @Test("it has what the person has sent, and what the backend has granted")
    func own() throws {
        var change = PersonChange("17")
        change.audiences = ["place/42"]
        let lines = history([
            Command(.changePerson(change), by: .key("k")),
            Command(try phone { $0.removes = ["place/1"] }, by: .user("17", issuedAt: Shop.now)),
            Command(.changePerson(PersonChange("18")), by: .key("k")),
        ])
        #expect(lines.count == 2 && lines[0].contains("place/42") && lines[1].contains(#""removes":["place/1"]"#))
    }

    @Test("a user who asked for a device that is not the person's hears nothing of what others do with it")
    func refused() throws {
        let user = Author.user("17", issuedAt: Shop.now)
        let commands = [
            Command(try phone { $0.person = .set("17") }, by: user),
            Command(try phone { $0.locale = .set("fr") }, by: .device("0")),
        ]
        #expect(history(commands).count == 1)
        #expect(history(commands, owning: [try #require(DeviceID(PlayedDesk.phone))]).count == 2)
    }
}
