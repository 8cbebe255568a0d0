import NotificationPayload
import Notifications
import Pipeline
import Testing

@testable import Registrar
@testable import carillon

@Suite("carillon devices", .timeLimit(.minutes(30))) struct DevicesCommandTests {
    private static let phone = "installation-0001"
    private static let other = "installation-0002"

    private func registration(_ device: String, _ token: String, person: String? = nil) throws -> Command {
        var change = DeviceChange(try #require(DeviceID(device)), isWhole: true)
        change.address = .set(.init(.registrationToken, ByteText(token)))
        change.app = "com.example.shop"
        change.person = person.map { .set(ByteText($0)) } ?? .keep
        change.audiences = ["channel/offers", "place/42"]
        return Command(.changeDevice(change), by: .key("backend"))
    }

    @Test("a device is shown with its person's audiences, and never with its address")
    func shown() throws {
        let registrar = try MockRegistrar()
        defer { registrar.stop() }
        var grant = PersonChange("17")
        grant.audiences = ["place/8"]
        try registrar.write(
            try registration(Self.phone, "secret-token", person: "17"),
            Command(.changePerson(grant), by: .key("backend")))
        try registrar.waitForVerdicts(2)
        let json = try registrar.carillon("devices", "show", Self.phone, "--json")
        let device = try #require(PushValue(json: json.output), "\(json.errors)")
        let hash = SubscriptionKey.tokenHash(of: "secret-token")
        #expect(device["device"]?.string == Self.phone && device["revision"]?.text == "0")
        #expect(device["address"]?["state"]?.string == "live" && device["address"]?["sha256"]?.string == hash)
        #expect(device["address"]?["kind"]?.string == "registration_token")
        #expect(device["person"]?.string == "17" && device["person_audiences"]?.array == [.string("place/8")])
        #expect(device["audiences"]?.array == [.string("channel/offers"), .string("place/42")])
        let text = try registrar.carillon("devices", "show", Self.phone).output
        #expect(text.contains("channel/offers, place/42") && text.contains("place/8") && text.contains(hash))
        #expect(!text.contains("secret-token") && !json.output.contains("secret-token"))
    }

    @Test("devices are found by their person, and by an address, also by the device that has lost it")
    func listed() throws {
        let registrar = try MockRegistrar()
        defer { registrar.stop() }
        try registrar.write(
            try registration(Self.phone, "token-1", person: "17"),
            try registration(Self.other, "token-2", person: "17"),
            try registration("installation-0003", "token-3", person: "18"),
            try registration("installation-0004", "token-1"))
        try registrar.waitForVerdicts(4)
        func ids(_ words: String...) throws -> [String?] {
            let listed = try registrar.carillon("devices", "list", "--json", words[0], words[1])
            return listed.output.split(separator: "\n").map { PushValue(json: String($0))?["device"]?.string }
        }
        #expect(try ids("--person", "17") == [Self.phone, Self.other])
        let hash = SubscriptionKey.tokenHash(of: "token-1")
        #expect(try ids("--address-sha256", hash.uppercased()) == [Self.phone, "installation-0004"])
        let table = try registrar.carillon("devices", "list", "--address-sha256", hash, "--person", "18").output
        #expect(table.contains("claimed") && table.contains("live") && table.hasSuffix("3 devices\n"), "\(table)")
        #expect(try registrar.carillon("devices", "list", "--person", "nobody").output.hasSuffix("0 devices\n"))
    }

    @Test("a device is forgotten by one command of whoever runs it, and one that is not there is said")
    func forgotten() throws {
        let registrar = try MockRegistrar()
        defer { registrar.stop() }
        try registrar.write(try registration(Self.phone, "token-1"))
        let forgot = try registrar.carillon("devices", "forget", Self.phone, "--timeout", "60s")
        #expect(forgot.status == 0 && forgot.output.hasPrefix("forgot \(Self.phone)"), "\(forgot.errors)")
        let command = try #require(try registrar.commands().last)
        #expect(command.action == .deleteDevice(try #require(DeviceID(Self.phone))) && command.condition == .exists)
        guard case .key(let id) = command.author else {
            Issue.record("the author is \(command.author)")
            return
        }
        #expect(id.hasPrefix("cli:") && id.contains("@"))
        for words in [["forget", Self.phone, "--timeout", "60s"], ["show", Self.phone]] {
            let absent = try CommandProcess.run(
                ["devices"] + words + ["--set", "topic.commands=notifications.commands"],
                environment: ["KAFKA_BOOTSTRAP_SERVERS": registrar.cluster.bootstrapServers, "HOME": "/home/x"])
            #expect(absent.status == 1 && absent.output.isEmpty)
            #expect(
                absent.errors.contains("there is no device \(Self.phone); 'carillon devices list'"), "\(absent.errors)")
        }
    }

    @Test("without a registrar a command is recorded: 75, and its offset for programs")
    func recorded() throws {
        let registrar = try MockRegistrar(decides: false)
        let forgot = try registrar.carillon("devices", "forget", Self.phone, "--timeout", "1s", "--json")
        #expect(forgot.status == 75, "\(forgot.errors)")
        #expect(forgot.errors.contains("recorded as notifications.commands/0/0, and not decided within 1s"))
        #expect(forgot.output == "{\"command\":0,\"status\":\"recorded\"}\n")
        #expect(try registrar.commands().count == 1)
    }

    @Test("what the registrar refuses is said with all its problems, and what it cannot read is 78")
    func refused() {
        func failure(_ verdict: Verdict) -> CommandFailure {
            CommandLog.Decided(command: 1, verdict: verdict).failure(absent: CommandFailure(.difference, "absent"))
        }
        #expect(failure(.refused(.invalid(["one", "two"]))).lines == ["one", "two"])
        #expect(failure(.refused(.tooManyAudiences(most: 1_000))).lines[0].hasSuffix("at most 1,000"))
        #expect(failure(.refused(.preconditionFailed(revision: nil))).lines == ["absent"])
        #expect(failure(.malformed).code == .configuration && failure(.refused(.personErased)).code == .defect)
        #expect(failure(.gone).code == .defect)
    }

    @Test("an address that is dead says who has said so, and why; one that never was says none")
    func addresses() throws {
        var state = DeviceState(
            try #require(DeviceID(Self.phone)), revision: 7, registeredAt: WallTime(milliseconds: 1_764_000_000_000))
        #expect(DeviceReport(state).address.state == "none" && DeviceReport(state).text.contains("nobody"))
        let death = Death(.fcm, reason: "UNREGISTERED", at: state.registeredAt)
        state.address = .dead(AddressHash(of: "token-1"), death)
        #expect(DeviceReport(state).text.contains("dead, fcm UNREGISTERED, since 2025-11-24T16:00:00"))
        #expect(try DeviceReport(state).json().contains(#""reason":"UNREGISTERED""#))
    }

    @Test("without topic.commands there is no registrar: 78, and the setting is named")
    func noTopic() throws {
        for words in [
            ["devices", "show", Self.phone], ["devices", "list", "--person", "17"], ["devices", "forget", Self.phone],
            ["people", "show", "17"], ["people", "audiences", "17"], ["people", "erase", "17", "--yes"],
        ] {
            let result = try CommandProcess.run(words + ["-b", "127.0.0.1:1"], environment: ["HOME": "/home/x"])
            #expect(result.status == 78 && result.errors.hasPrefix("carillon: topic.commands is not set"), "\(words)")
        }
    }

    @Test("an id that is none, a hash that is none, and nothing to list are 64, and said")
    func usage() throws {
        for (words, sentence) in [
            (["devices", "show", "short"], "16 to 64 letters and digits"),
            (["devices", "forget", "a device of blanks"], "16 to 64 letters and digits"),
            (["devices", "list"], "nothing to list: give --person or --address-sha256"),
            (["devices", "list", "--address-sha256", "abc"], "64 hex digits"),
            (["devices", "list", "--person", ""], "1 to 1,019 bytes"),
            (["people", "show", "a\tb"], "1 to 1,019 bytes"),
            (["people", "audiences", "17", "place/1", "--none"], "--none and audiences exclude each other"),
            (["people", "audiences", "17", "user/18", "42"], "'42' is no audience for a person"),
        ] {
            let result = try CommandProcess.run(words + ["-b", "127.0.0.1:1"], environment: ["HOME": "/home/x"])
            #expect(result.status == 64 && result.errors.contains(sentence), "\(words): \(result.errors)")
        }
    }

    @Test("subscribe and unsubscribe name the device that has the address, and do what was asked")
    func owned() throws {
        let registrar = try MockRegistrar()
        defer { registrar.stop() }
        try registrar.write(try registration(Self.phone, "token-1"))
        try registrar.waitForVerdicts(1)
        let device = ["--audience", "place/7", "--platform", "fcm", "--app", "com.example.shop"]
        func subscribe(_ token: String, settings: [String] = ["--set", "topic.commands=notifications.commands"]) throws
            -> CommandProcess
        {
            try CommandProcess.run(
                ["subscribe"] + device + settings, input: token,
                environment: ["KAFKA_BOOTSTRAP_SERVERS": registrar.cluster.bootstrapServers, "HOME": "/home/x"])
        }
        let subscribed = try subscribe("token-1")
        let warning = "warning: the device \(Self.phone) has this address, and its app's next start may undo this"
        #expect(subscribed.status == 0 && subscribed.output.hasPrefix("subscribed place/7|"))
        #expect(subscribed.errors.contains(warning), "\(subscribed.errors)")
        #expect(try subscribe("token-2").errors.isEmpty)
        #expect(try subscribe("token-1", settings: []).errors.isEmpty)
        let gone = try registrar.carillon("unsubscribe", "--audience", "place/7", input: "token-1")
        #expect(gone.status == 0 && gone.output.hasPrefix("unsubscribed place/7|") && gone.errors.contains(warning))
    }

    @Test("a topic of devices that takes too long to read, or is not there, costs the warning alone")
    func ownerIsNotKnown() throws {
        let registrar = try MockRegistrar()
        defer { registrar.stop() }
        try registrar.write(try registration(Self.phone, "token-1"))
        try registrar.waitForVerdicts(1)
        var configuration = PipelineConfiguration(
            kafka: registrar.settings, stateDirectory: "/nonexistent", rules: try ExtractionRules())
        let hash = AddressHash(of: "token-1")
        let late = AddressOwner.warnings(of: hash, configuration, within: .zero)
        #expect(
            late.count == 1 && late[0].hasSuffix(": notifications.devices takes longer than 0ms to read"), "\(late)")
        configuration.kafka = ["bootstrap.servers": "127.0.0.1:1"]
        let absent = AddressOwner.warnings(of: hash, configuration, within: .zero)
        #expect(absent.count == 1 && absent[0].contains("was not found out: "), "\(absent)")
    }
}
