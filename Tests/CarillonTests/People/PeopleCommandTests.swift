import NotificationPayload
import Notifications
import Testing

@testable import Registrar
@testable import carillon

@Suite("carillon people", .timeLimit(.minutes(30))) struct PeopleCommandTests {
    private func login(_ device: String, _ token: String) throws -> Command {
        var change = DeviceChange(try #require(DeviceID(device)), isWhole: true)
        change.address = .set(.init(.installationID, ByteText(token)))
        change.app = "com.example.shop"
        change.person = .set("17")
        return Command(.changeDevice(change), by: .key("backend"))
    }

    @Test("audiences are set, set again, printed, and taken back, and the person is shown with the devices")
    func audiences() throws {
        let registrar = try MockRegistrar()
        defer { registrar.stop() }
        try registrar.write(try login("installation-0001", "secret-id"))
        try registrar.waitForVerdicts(1)
        for (audiences, printed) in [
            (["place/42", "channel/offers", "place/42"], "17: channel/offers, place/42 (created)\n"),
            (["channel/offers", "place/42"], "17: channel/offers, place/42 (unchanged)\n"),
            (["place/8"], "17: place/8 (changed)\n"),
        ] {
            let words = ["people", "audiences", "17"] + audiences + ["--timeout", "60s"]
            let set = try CommandProcess.run(
                words + ["--set", "topic.commands=notifications.commands"],
                environment: ["KAFKA_BOOTSTRAP_SERVERS": registrar.cluster.bootstrapServers, "HOME": "/home/x"])
            #expect(set.output == printed, "\(set.errors)")
        }
        let known = try registrar.carillon("people", "audiences", "17", "--json")
        #expect(known.output == "{\"audiences\":[\"place/8\"],\"person\":\"17\"}\n", "\(known.errors)")
        let shown = try registrar.carillon("people", "show", "17", "--json")
        let person = try #require(PushValue(json: shown.output), "\(shown.errors)")
        #expect(person["audiences"]?.array == [.string("place/8")] && person["devices"]?.array?.count == 1)
        #expect(person["devices"]?.array?.first?["device"]?.string == "installation-0001")
        #expect(!shown.output.contains("secret-id"))
        let text = try registrar.carillon("people", "show", "17").output
        #expect(text.contains("devices    1\n") && text.contains("installation-0001  live"), "\(text)")
        let none = try registrar.carillon("people", "audiences", "17", "--none", "--timeout", "60s")
        #expect(none.output == "17: none (changed)\n", "\(none.errors)")
        let nobody = try registrar.carillon("people", "show", "18")
        #expect(nobody.status == 1 && nobody.errors.contains("nothing is known of the person 18"))
    }

    @Test("an erasure shows what there is, needs the number of devices, and says how many there were")
    func erased() throws {
        let registrar = try MockRegistrar()
        defer { registrar.stop() }
        try registrar.write(try login("installation-0001", "id-1"), try login("installation-0002", "id-2"))
        try registrar.waitForVerdicts(2)
        let plan = try registrar.carillon("people", "erase", "17", "--dry-run")
        #expect(plan.status == 0 && plan.output.contains("devices    2\n") && plan.errors == "Nothing was erased.\n")
        let unasked = try registrar.carillon("people", "erase", "17")
        #expect(unasked.status == 64 && unasked.errors.contains("give --yes or --confirm 2; nothing was erased"))
        let wrong = try registrar.carillon("people", "erase", "17", "--confirm", "3")
        #expect(wrong.status == 78 && wrong.errors.contains("nothing was erased"))
        #expect(try registrar.commands().count == 2)
        let erased = try registrar.carillon("people", "erase", "17", "--confirm", "2", "--timeout", "60s", "--json")
        let outcome = try #require(PushValue(json: erased.output), "\(erased.errors)")
        #expect(outcome["person"]?.string == "17" && outcome["devices"]?.text == "2")
        #expect(outcome["command"]?.text == "2")
        let again = try registrar.carillon("people", "erase", "17", "--yes", "--timeout", "60s")
        #expect(again.output.hasPrefix("erased 17") && again.output.contains(": 0 devices, "), "\(again.errors)")
        #expect(try registrar.carillon("people", "show", "17").status == 1)
    }
}
