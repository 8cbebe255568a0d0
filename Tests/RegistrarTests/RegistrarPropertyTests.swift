import JSONReader
import Notifications
import TestSupport
import Testing

@testable import Registrar

@Suite("Whatever is commanded, and whatever others write into the topic of subscriptions")
struct RegistrarPropertyTests {
    private static let devices: [DeviceID] = ["d1", "d2", "d3", "d4"]
    private static let tokens: [ByteText] = ["token-a", "token-b", "token-c"]
    private static let people: [ByteText] = ["17", "18", "m\u{fc}ller"]
    private static let credentials = ["0", "1"].map { ByteText(String(repeating: $0, count: 64)) }
    private static let audiences: [ByteText] = ["channel/a", "channel/b", "place/1", "place/2"]

    @Test("An address is one device's, a device is what its state says, and a registrar made anew decides the same")
    func invariants() throws {
        var random = SeededGenerator(seed: try RunSeed.value())
        for _ in 0..<40 {
            var world = try RegistrarWorld()
            for _ in 0..<60 {
                world.time = world.time + Int64.random(in: 0...200_000_000, using: &random)
                if Int.random(in: 0..<8, using: &random) == 0 {
                    let token = Self.tokens.randomElement(using: &random)!.text
                    let audience = (Self.audiences + ["user/17"]).randomElement(using: &random)!.text
                    let registered = world.time - Int64.random(in: 0...100_000_000, using: &random)
                    world.write(
                        Subscription(
                            audience: audience, token: token, platform: .fcm, app: "com.example.shop",
                            registeredAt: registered))
                }
                let command = Self.command(at: world.time, &random)
                let restored = try world.restored()
                let again = try restored.decide(command, at: world.offset, time: world.time)
                let before = world.devices
                let decision = try world.decide(command)
                #expect(again == decision, "\(command)")
                try check(world, decision, before)
                // An erasure is later each time; whoever is no backend may have lost the right to what it has done.
                if case .erasePerson = command.action { continue }
                if command.author == .key("k"), command.condition == nil, !decision.verdict.isRefused {
                    #expect(try !world.decide(command).changes, "repeated: \(command)")
                }
            }
        }
    }

    private func check(_ world: RegistrarWorld, _ decision: Decision, _ before: [DeviceID: DeviceState]) throws {
        if decision.verdict.isRefused { #expect(!decision.changes && decision.withdrawals.isEmpty) }
        // One address, one device.
        let live = world.devices.values.filter { $0.live != nil }
        #expect(Set(live.map { $0.live!.hash }).count == live.count)
        for device in live {
            let address = try #require(device.live)
            #expect(try world.table.owner(of: address.hash) == device.id)
            // All that it is to have, it has, as the registrar writes it, unless somebody else has written it since.
            var wanted = Set(device.audiences)
            wanted.insert(ByteText("device/\(address.hash.hex)"))
            if let person = device.person {
                wanted.insert(ByteText("user/\(person)"))
                wanted.formUnion(world.people[person]?.audiences ?? [])
            }
            for audience in wanted {
                let key = SubscriptionKey(audience: audience.text, tokenHash: address.hash.hex)
                let found = try #require(world.subscriptions[key], "\(device.id) lacks \(audience)")
                #expect(found.token == address.value.text)
            }
        }
        // Who has changed hands in this decision has nothing of the last person.
        for (id, state) in decision.devices {
            guard let state, let address = state.live, before[id]?.person != state.person else { continue }
            let audiences = world.subscriptions.keys.filter { $0.tokenHash == address.hash.hex }.map(\.audience)
            let own = state.person.map { "user/\($0)" }
            #expect(audiences.filter { $0.hasPrefix("user/") } == (own.map { [$0] } ?? []))
        }
        // Who was erased is gone, and no device has an address that was erased now.
        for erasure in decision.erasures {
            let isLeft = { (key: SubscriptionKey) in
                ByteText(key.audience).person.map(PersonHash.init) == erasure.person
            }
            #expect(!world.subscriptions.keys.contains(where: isLeft))
            for (address, time) in erasure.addresses where time == world.time {
                #expect(try world.table.owner(of: address) == nil)
            }
        }
        // The indices are the topic.
        for person in Self.people {
            let keys = world.subscriptions.keys.filter { $0.audience == "user/\(person)" }
            #expect(try world.table.addresses(of: person).map(\.hex) == keys.map(\.tokenHash).sorted())
        }
        for token in Self.tokens {
            let hash = AddressHash(of: token.text)
            let indexed = try world.table.subscriptions(of: hash).map(\.audience.text).sorted()
            #expect(indexed == world.subscriptions.keys.filter { $0.tokenHash == hash.hex }.map(\.audience).sorted())
        }
    }

    @Test("A command, a device and a person are read as they were written")
    func roundTrip() throws {
        var random = SeededGenerator(seed: try RunSeed.value())
        var reader = JSONReader()
        var world = try RegistrarWorld()
        for _ in 0..<2_000 {
            let command = Self.command(at: world.time, &random)
            #expect(Command(command.json, &reader) == command)
            world.time = world.time + 1_000_000
            let decision = try world.decide(command)
            for case (_, let state?) in decision.devices { #expect(DeviceState(state.json, &reader) == state) }
            for case (_, let state?) in decision.people { #expect(PersonState(state.json, &reader) == state) }
        }
        let wrong: [String] = [
            "", "{}", "[]", #"{"version":2,"by":"sender","action":"erase_person","person":"17"}"#,
            #"{"version":1,"by":"user:17","action":"erase_person","person":"17"}"#,
            #"{"version":1,"by":"root","action":"erase_person","person":"17"}"#,
            #"{"version":1,"by":"sender","action":"erase_person","person":"17","unless_erased":false}"#,
            #"{"version":1,"by":"sender","action":"delete_device","device":"a/b"}"#,
            #"{"version":1,"by":"sender","action":"change_device","device":"a","whole":true,"audiences":[1]}"#,
        ]
        for text in wrong { #expect(Command(Array(text.utf8), &reader) == nil, "\(text)") }
    }

    private static func command(at time: WallTime, _ random: inout SeededGenerator) -> Command {
        func one<Element>(_ list: [Element]) -> Element { list.randomElement(using: &random)! }
        func some(_ list: [ByteText]) -> [ByteText] { list.filter { _ in Bool.random(using: &random) } }
        func maybe<Element>(_ value: Element) -> Element? { Bool.random(using: &random) ? value : nil }
        let author: Author = one([
            .key("k"), .key("k"),
            .user(one(people), issuedAt: time - Int64.random(in: 0...400_000_000, using: &random)),
            .device(one(Self.credentials)),
        ])
        let condition: Condition? = one([
            nil, nil, nil, nil, .exists, .isNew, .revision(3), .isOf(one(people)), .bringsNobodyBack,
        ])
        let action: Action
        switch Int.random(in: 0..<10, using: &random) {
        case 0...5:
            var change = DeviceChange(one(devices), isWhole: Bool.random(using: &random))
            change.address = one([
                .keep, .remove, .set(.init(one([.registrationToken, .installationID]), one(tokens))),
                .set(.init(.registrationToken, one(tokens))),
            ])
            change.person = one([.keep, .remove, .set(one(people))])
            change.locale = one([.keep, .remove, .set("de")])
            change.timeZone = one([.keep, .remove, .set("Europe/Berlin")])
            change.audiences = maybe(some(audiences))
            change.adds = some(audiences)
            change.removes = some(audiences)
            change.app = maybe("com.example.shop")
            change.environment = maybe(.development)
            change.generation = maybe(Int64.random(in: 0...9, using: &random))
            change.newCredential = maybe(one(Self.credentials))
            action = .changeDevice(change)
        case 6: action = .deleteDevice(one(devices))
        case 7:
            let at = time - Int64.random(in: -1_000...100_000_000, using: &random)
            let death = Death(one([.fcm, .fcm, .apns]), reason: "UNREGISTERED", at: at)
            let evidence = Evidence(death, app: maybe("com.example.shop"), environment: maybe(.production))
            action = .buryAddress(AddressHash(of: one(tokens).text), evidence)
        case 8:
            var change = PersonChange(one(people))
            change.audiences = maybe(some(audiences))
            change.locale = one([.keep, .remove, .set("fr")])
            action = .changePerson(change)
        default: action = .erasePerson(one(people))
        }
        return Command(action, by: author, if: condition)
    }
}
