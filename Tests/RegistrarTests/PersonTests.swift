import Notifications
import TestSupport
import Testing

@testable import Registrar

@Suite("People, erasure and dead addresses")
struct PersonTests {
    @Test("What the backend sets for a person holds for each of its devices, and for phones that come later")
    func audiences() throws {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a", person: "17", "place/1"))
        try world.decide(.set("17", "place/1", "place/2"))
        try world.decide(.put("tablet", "token-b", person: "17"))
        #expect(world.audiences(of: "token-a") == ["place/1", "place/2", "user/17"])
        #expect(world.audiences(of: "token-b") == ["place/1", "place/2", "user/17"])
        try world.decide(.set("17"))
        // The phone has asked for the place itself.
        #expect(world.audiences(of: "token-a") == ["place/1", "user/17"])
        #expect(world.audiences(of: "token-b") == ["user/17"])
        #expect(try world.decide(.set("17")).changes == false)
    }

    @Test("Erasing takes all devices, subscriptions and what is on its way in one decision, and leaves a suppression")
    func erased() throws {
        var world = try RegistrarWorld()
        try world.decide(.set("17", "place/1"))
        try world.decide(.put("phone", "token-a", person: "17", "channel/offers"))
        try world.decide(.put("tablet", "token-b", person: "17"))
        try world.decide(.put("other", "token-c", person: "18"))
        let decision = try world.decide(.erasePerson("17"))
        #expect(decision.verdict == .erased(devices: 2))
        #expect(Set(world.devices.keys) == ["other"])
        #expect(world.people.isEmpty)
        #expect(world.audiences(of: "token-a") + world.audiences(of: "token-b") == [])
        #expect(
            decision.withdrawals == ["token-a", "token-b"].map { Withdrawal(AddressHash(of: $0), .everything) })
        let times = ["token-a", "token-b"].map { (AddressHash(of: $0), world.time) }
        let erasure = Erasure(
            PersonHash("17"), at: world.time, addresses: Dictionary(uniqueKeysWithValues: times))
        #expect(decision.erasures == [erasure])
    }

    @Test("The record of an erasure has each address that was a device's, and that no other device has by now")
    func erasedAddresses() throws {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a", person: "17"))
        try world.decide(.move("phone", to: "token-b"))
        try world.decide(.move("phone", to: "token-c"))
        try world.decide(.put("tablet", "token-d", person: "17"))
        let death = Death(.fcm, reason: "UNREGISTERED", at: world.time + 1)
        try world.decide(.buryAddress(AddressHash(of: "token-d"), Evidence(death)), by: .sender)
        try world.decide(.put("other", "token-b", person: "18"))
        let first = try world.decide(.erasePerson("17")).erasures
        let erased = world.time
        func addresses(_ erasures: [Erasure]) -> [AddressHash: WallTime] { erasures.first?.addresses ?? [:] }
        #expect(Set(addresses(first).keys) == Set(["token-a", "token-c", "token-d"].map { AddressHash(of: $0) }))
        // The next record takes its place, and does not forget when what was erased.
        world.time = world.time + 1_000
        try world.decide(.put("phone", "token-e", person: "17"))
        let second = addresses(try world.decide(.erasePerson("17")).erasures)
        #expect(second == addresses(first).merging([AddressHash(of: "token-e"): world.time]) { $1 })
        #expect(second[AddressHash(of: "token-a")] == erased)
        #expect(
            try world.restored().decide(Command(.erasePerson("17"), by: .key("k")), at: 99, time: world.time)
                .erasures.map(\.addresses) == [second])
    }

    @Test(
        "What somebody else has subscribed as the person goes, too, with what is on its way; the address's other audiences stay"
    )
    func erasedByHand() throws {
        var world = try RegistrarWorld()
        for (audience, token) in [
            ("user/17", "token-x"), ("place/7", "token-x"), ("user/17", "token-b"), ("user/18", "token-y"),
        ] {
            world.write(Subscription(audience: audience, token: token, platform: .fcm, app: ""))
        }
        try world.decide(.put("other", "token-c", person: "18"))
        // Of a device of somebody else only this audience is meant.
        world.write(Subscription(audience: "user/17", token: "token-c", platform: .fcm, app: ""))
        try world.decide(.put("phone", "token-a", person: "17"))
        let decision = try world.decide(.erasePerson("17"))
        #expect(decision.verdict == .erased(devices: 1))
        #expect(world.audiences(of: "token-x") == ["place/7"] && world.audiences(of: "token-y") == ["user/18"])
        #expect(world.audiences(of: "token-b").isEmpty && world.audiences(of: "token-c") == ["user/18"])
        let byHand = ["token-x", "token-b", "token-c"].map { AddressHash(of: $0) }.sorted { $0.hex < $1.hex }
        #expect(
            decision.withdrawals
                == [Withdrawal(AddressHash(of: "token-a"), .everything)]
                + byHand.map { Withdrawal($0, .audiences(["user/17"])) })
        let erased = ["token-a", "token-b", "token-x"].map { AddressHash(of: $0) }
        #expect(Set(decision.erasures.first.map { $0.addresses.keys.map { $0 } } ?? []) == Set(erased))
        #expect(try world.decide(.erasePerson("17")).withdrawals.isEmpty)
    }

    @Test(
        "Where more is subscribed as the person than an erasure may name, all goes, and the devices' addresses are named"
    )
    func mostAddresses() throws {
        var world = try RegistrarWorld()
        for number in 0..<Erasure.mostAddresses + 100 {
            world.write(Subscription(audience: "user/17", token: "token-\(number)", platform: .fcm, app: ""))
        }
        for id in ["phone-a", "phone-b", "phone-c"] as [DeviceID] {
            try world.decide(.put(id, ByteText(id.text), person: "17"))
        }
        let addresses = try world.decide(.erasePerson("17")).erasures.first?.addresses ?? [:]
        #expect(world.subscriptions.isEmpty && addresses.count == Erasure.mostAddresses)
        for id in ["phone-a", "phone-b", "phone-c"] as [DeviceID] {
            #expect(addresses[AddressHash(of: id.text)] == world.time)
        }
    }

    @Test("What may be old brings back neither who was erased nor their address; who has them already keeps them")
    func bringsNobodyBack() throws {
        var world = try RegistrarWorld()
        let old = Action.put("phone", "token-a", person: "17", "place/7")
        let others = [
            Action.put("phone", "token-a"), .put("tablet", "token-a", person: "18"),
            .put("tablet", "token-b", person: "17"),
        ]
        #expect(try world.decide(old, if: .bringsNobodyBack).verdict == .created(revision: 0))
        try world.decide(.erasePerson("17"))
        for action in [old] + others {
            let decision = try world.decide(action, if: .bringsNobodyBack)
            #expect(decision == Decision(.refused(.personErased)), "\(action)")
        }
        #expect(!(try world.decide(.put("other", "token-c", person: "18"), if: .bringsNobodyBack).verdict.isRefused))
        // By an ordinary PUT the person comes back.
        #expect(!(try world.decide(old).verdict.isRefused))
        #expect(!(try world.decide(old, if: .bringsNobodyBack).verdict.isRefused))
        for action in others.dropFirst() {
            #expect(try world.decide(action, if: .bringsNobodyBack).verdict == .refused(.personErased), "\(action)")
        }
    }

    @Test("With a token from before the erasure everything is refused, a newer one is a person who came back")
    func cameBack() throws {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a", person: "17", newCredential: "c0ffee"))
        let before = world.time
        world.time = world.time + 1_000
        try world.decide(.erasePerson("17"))
        let put = Action.put("phone", "token-a", person: "17")
        #expect(try world.decide(put, by: .user("17", issuedAt: before)).verdict == .refused(.personErased))
        #expect(try world.decide(put, by: .user("17", issuedAt: world.time)).verdict == .refused(.personErased))
        #expect(try world.decide(put, by: .user("17", issuedAt: world.time + 1)).verdict == .created(revision: 4))
        // Nor may an old one undo what the person has now.
        let others = [Action.logOut("phone"), .deleteDevice("phone"), .change("phone") { $0.removes = ["place/1"] }]
        for action in others {
            let verdict = try world.decide(action, by: .user("17", issuedAt: before)).verdict
            #expect(verdict == .refused(.personErased), "\(action)")
        }
    }

    @Test("Of a person's devices beyond a hundred the one that was seen longest ago is forgotten")
    func mostDevices() throws {
        var world = try RegistrarWorld()
        for number in 0...100 {
            world.time = world.time + 86_400_000
            try world.decide(.put(DeviceID(stringLiteral: "d\(number)"), ByteText("token-\(number)"), person: "17"))
        }
        #expect(world.devices.count == 100)
        #expect(world.devices["d0"] == nil)
        #expect(world.audiences(of: "token-0") == [])
        #expect(world.audiences(of: "token-100") == ["user/17"])
    }

    @Test("A provider's word makes an address dead, and the next start of the app revives it")
    func dead() throws {
        var world = try RegistrarWorld()
        let put = Action.put("phone", "token-a", person: "17", "channel/offers")
        try world.decide(put)
        world.time = world.time + 1_000
        let hash = AddressHash(of: "token-a")
        let death = Death(.fcm, reason: "UNREGISTERED", at: world.time)
        #expect(try world.decide(.buryAddress(hash, Evidence(death)), by: .sender).verdict == .changed(revision: 1))
        #expect(world.devices["phone"]?.address == .dead(hash, death))
        #expect(world.subscriptions.isEmpty)
        #expect(try world.decide(.buryAddress(hash, Evidence(death)), by: .sender).changes == false)
        world.time = world.time + 1_000
        try world.decide(put)
        #expect(world.audiences(of: "token-a") == ["channel/offers", "user/17"])
    }

    @Test("Evidence from before the address was registered, or the device was seen, or of another provider is ignored")
    func oldEvidence() throws {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a"))
        let hash = AddressHash(of: "token-a")
        for death in [
            Death(.fcm, reason: "UNREGISTERED", at: world.time), Death(.apns, reason: "x", at: world.time + 1),
        ] {
            let decision = try world.decide(.buryAddress(hash, Evidence(death)), by: .sender)
            #expect(decision.verdict == .gone)
            #expect(!decision.changes)
        }
        world.time = world.time + 86_400_000
        let before = world.time
        try world.decide(.put("phone", "token-a"))
        let death = Death(.fcm, reason: "UNREGISTERED", at: before)
        #expect(try world.decide(.buryAddress(hash, Evidence(death)), by: .sender).changes == false)
    }
}
