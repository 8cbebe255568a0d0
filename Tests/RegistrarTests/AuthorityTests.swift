import Notifications
import TestSupport
import Testing

@testable import Registrar

@Suite("Who may change a device")
struct AuthorityTests {
    private func world() throws -> RegistrarWorld {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a", person: "17", "channel/offers", newCredential: "c0ffee"))
        return world
    }

    @Test("Another person without its address or its credential may not")
    func notThisDevice() throws {
        var world = try world()
        let other = Author.user("18", issuedAt: world.time)
        for action: Action in [
            .put("phone", "token-b", person: "18"), .logOut("phone"), .deleteDevice("phone"),
            .change("phone") { $0.adds = ["channel/news"] },
        ] {
            #expect(try world.decide(action, by: other) == Decision(.refused(.notThisDevice)))
        }
        #expect(try world.decide(.logOut("phone"), by: .device("decaf")) == Decision(.refused(.notThisDevice)))
        #expect(
            try world.decide(.put("phone", "token-a", person: "18"), by: other).verdict == .changed(revision: 6))
    }

    @Test(
        "A user's logout that is repeated, since its answer was lost, is answered as unchanged; anything more is refused"
    )
    func repeatedLogout() throws {
        var world = try world()
        let user = Author.user("17", issuedAt: world.time)
        #expect(try world.decide(.logOut("phone"), by: user).verdict == .changed(revision: 1))
        #expect(try world.decide(.logOut("phone"), by: user) == Decision(.unchanged(revision: 1)))
        let more = Action.change("phone") { change in
            change.person = .remove
            change.removes = ["channel/offers"]
        }
        #expect(try world.decide(more, by: user) == Decision(.refused(.notThisDevice)))
        #expect(try world.decide(.logOut("phone"), by: .device("decaf")) == Decision(.refused(.notThisDevice)))
    }

    @Test("Nobody logs another person in, erases one or says that an address is dead, but who may")
    func others() throws {
        var world = try world()
        let user = Author.user("17", issuedAt: world.time)
        let credential = Author.device("c0ffee")
        #expect(
            try world.decide(.put("new", "token-b", person: "18"), by: user) == Decision(.refused(.notThisDevice)))
        #expect(
            try world.decide(.put("phone", "token-a", person: "18"), by: user) == Decision(.refused(.notThisDevice)))
        #expect(try world.decide(.put("new", "token-b"), by: .sender) == Decision(.refused(.notFound)))
        for author in [user, credential, .sender] {
            #expect(try world.decide(.erasePerson("17"), by: author) == Decision(.refused(.notFound)))
        }
        let death = Action.buryAddress(
            AddressHash(of: "token-a"), Evidence(Death(.fcm, reason: "UNREGISTERED", at: world.time + 1)))
        for author in [user, credential] {
            #expect(try world.decide(death, by: author) == Decision(.refused(.notFound)))
        }
        #expect(world.audiences(of: "token-a") == ["channel/offers", "user/17"])
    }

    @Test("A device credential refreshes and reduces: it adds no audience, sets no person and makes no credential")
    func reduces() throws {
        var world = try world()
        let device = Author.device("c0ffee")
        #expect(try world.decide(.move("phone", to: "fid-b"), by: device).verdict == .changed(revision: 1))
        #expect(
            try world.decide(.change("phone") { $0.locale = .set("de") }, by: device).verdict == .changed(revision: 2))
        for change: (inout DeviceChange) -> Void in [
            { $0.adds = ["channel/news"] }, { $0.audiences = ["place/1"] }, { $0.person = .set("18") },
            { $0.newCredential = "decaf" }, { $0.app = "com.example.other" }, { $0.environment = .development },
        ] {
            #expect(
                try world.decide(.change("phone", change), by: device) == Decision(.refused(.notByCredential)))
        }
        #expect(
            try world.decide(.change("phone") { $0.removes = ["channel/offers"] }, by: device).verdict
                == .changed(revision: 9))
        #expect(try world.decide(.put("new", "token-c"), by: device) == Decision(.refused(.notByCredential)))
        #expect(try world.decide(.deleteDevice("phone"), by: device).verdict == .gone)
    }

    @Test("Of a device with an address a user makes a new credential only by showing that address")
    func newCredential() throws {
        var world = try world()
        let user = Author.user("17", issuedAt: world.time)
        let moved = Action.put("phone", "token-b", person: "17", newCredential: "decaf")
        #expect(try world.decide(moved, by: user) == Decision(.refused(.notThisDevice)))
        let kept = Action.put("phone", "token-a", person: "17", newCredential: "decaf")
        #expect(try world.decide(kept, by: user).verdict == .changed(revision: 2))
        #expect(world.devices["phone"]?.credential == "decaf")
        #expect(try world.decide(.logOut("phone"), by: .device("c0ffee")) == Decision(.refused(.notThisDevice)))
        #expect(
            try world.decide(.put("new", nil, person: "17", newCredential: "decaf"), by: user).verdict
                == .created(revision: 4))
    }

    @Test("A logout from elsewhere takes the device from its person, and from nobody who came since")
    func logOutElsewhere() throws {
        var world = try world()
        #expect(try world.decide(.logOut("phone"), if: .isOf("18")) == Decision(.refused(.notFound)))
        #expect(try world.decide(.deleteDevice("phone"), if: .isOf("18")) == Decision(.refused(.notFound)))
        #expect(try world.decide(.logOut("phone"), if: .isOf("17")).verdict == .changed(revision: 3))
        #expect(try world.decide(.logOut("phone"), if: .isOf("17")) == Decision(.refused(.notFound)))
    }

    @Test("A person may change the own locale, and no audiences; nobody else's")
    func people() throws {
        var world = try world()
        let user = Author.user("17", issuedAt: world.time)
        var change = PersonChange("17")
        change.timeZone = .set("Europe/Berlin")
        #expect(try world.decide(.changePerson(change), by: user).verdict == .created(revision: 1))
        #expect(try world.decide(.changePerson(change), by: user).verdict == .unchanged(revision: 1))
        #expect(try world.decide(.set("17", "place/1"), by: user).verdict == .refused(.notFound))
        change.person = "18"
        #expect(try world.decide(.changePerson(change), by: user).verdict == .refused(.notFound))
        #expect(try world.decide(.changePerson(change), by: .device("c0ffee")).verdict == .refused(.notFound))
    }
}
