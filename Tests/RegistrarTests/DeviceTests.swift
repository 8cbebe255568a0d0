import JSONReader
import Notifications
import StateStore
import TestSupport
import Testing

@testable import Registrar

@Suite("A device, its address and its person")
struct DeviceTests {
    @Test("A device is subscribed to its audiences, its person, its person's audiences and itself")
    func fourSources() throws {
        var world = try RegistrarWorld()
        try world.decide(.set("17", "place/42"))
        let decision = try world.decide(.put("phone", "token-a", person: "17", "channel/offers"))
        #expect(decision.verdict == .created(revision: 1))
        #expect(world.audiences(of: "token-a") == ["channel/offers", "place/42", "user/17"])
        let own = SubscriptionKey(audience: "device/" + SubscriptionKey.tokenHash(of: "token-a"), token: "token-a")
        #expect(world.subscriptions[own]?.registeredAt == world.time)
        #expect(world.subscriptions.count == 4)
    }

    @Test("A PUT that changes nothing writes nothing, also when it is repeated after a day: then only when it was seen")
    func unchanged() throws {
        var world = try RegistrarWorld()
        let put = Action.put("phone", "token-a", person: "17", "channel/offers")
        try world.decide(put)
        let repeated = try world.decide(put)
        #expect(repeated.verdict == .unchanged(revision: 0))
        #expect(!repeated.changes)
        world.time = world.time + 86_400_000
        let nextDay = try world.decide(put)
        #expect(nextDay.verdict == .unchanged(revision: 0))
        #expect(nextDay.devices.map(\.state?.seenAt) == [world.time])
        #expect(nextDay.subscriptions.isEmpty)
    }

    @Test(
        "A table that lacks the subscriptions knows which command changes nothing; what needs a decision is left to it")
    func unchangedWithoutDecision() throws {
        var world = try RegistrarWorld()
        let put = Action.put("phone", "token-a", person: "17", "channel/offers", generation: 2)
        func state(
            _ action: Action, by author: Author = .key("k"), if condition: Condition? = nil, after time: Int64 = 0
        )
            throws -> DeviceState?
        {
            try world.core.table.device("phone").flatMap { device in
                let command = Command(action, by: author, if: condition)
                return RegistrarCore.isUnchanged(device, by: command, at: world.time + time) ? device : nil
            }
        }
        #expect(try state(put) == nil)
        try world.decide(put)
        #expect(try state(put) == world.devices["phone"])
        #expect(try state(put, by: .user("17", issuedAt: world.time)) != nil)
        #expect(try state(.change("phone") { $0.locale = .remove }) != nil)
        #expect(try state(put, after: 86_399_999) != nil && state(put, after: 86_400_000) == nil)
        #expect(try state(put, if: .exists) == nil)
        #expect(try state(.change("phone") { $0.locale = .remove }, by: .user("18", issuedAt: world.time)) == nil)
        #expect(try state(.put("phone", "token-a", person: "17", "channel/offers", generation: 3)) == nil)
        #expect(try state(.put("phone", "token-a", person: "17", "channel/offers", generation: 1)) == nil)
        #expect(try state(.put("phone", "token-a", person: "17")) == nil)
        #expect(try state(.deleteDevice("phone")) == nil)
    }

    @Test("After a week its subscriptions are written again, with when it was seen: `subscriptions.max-age` reads it")
    func refreshed() throws {
        var world = try RegistrarWorld()
        let put = Action.put("phone", "token-a", "channel/offers")
        try world.decide(put)
        world.time = world.time + 7 * 86_400_000
        let decision = try world.decide(put)
        #expect(decision.subscriptions.count == 2)
        #expect(world.subscriptions.values.allSatisfy { $0.lastSeenAt == world.time })
        #expect(decision.subscriptions.allSatisfy { $0.put != nil && $0.since == nil })
    }

    @Test("The whole device is replaced: what is not named is removed, also what somebody else has written")
    func replaced() throws {
        var world = try RegistrarWorld()
        world.write(Subscription(audience: "place/7", token: "token-a", platform: .fcm, app: ""))
        try world.decide(.put("phone", "token-a", "channel/offers", "channel/news"))
        #expect(world.audiences(of: "token-a") == ["channel/news", "channel/offers"])
        try world.decide(.put("phone", "token-a", "channel/news"))
        #expect(world.audiences(of: "token-a") == ["channel/news"])
    }

    @Test("One audience that is added or removed leaves what others have written")
    func oneAudience() throws {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a", "channel/offers"))
        world.write(Subscription(audience: "place/7", token: "token-a", platform: .fcm, app: ""))
        try world.decide(.change("phone") { $0.adds = ["channel/news"] })
        try world.decide(.change("phone") { $0.removes = ["channel/offers"] })
        #expect(world.audiences(of: "token-a") == ["channel/news", "place/7"])
        #expect(try world.decide(.change("other") { $0.adds = ["channel/news"] }).verdict == .refused(.notFound))
    }

    @Test(
        "A new address takes the old one's place: `since` says that the device joins nothing, and the old one is nobody's"
    )
    func rotation() throws {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a", person: "17", "channel/offers"))
        let first = world.time
        world.time = world.time + 5_000
        let decision = try world.decide(.move("phone", to: "fid-b"))
        #expect(world.audiences(of: "token-a") == [])
        #expect(world.audiences(of: "fid-b") == ["channel/offers", "user/17"])
        let since = decision.subscriptions.compactMap { change -> (String, WallTime?)? in
            change.put.map { ($0.subscription.audience, change.since) }
        }
        #expect(since.filter { $0.0 == "channel/offers" }.map(\.1) == [first])
        // The audience of the device itself is a new one.
        #expect(since.filter { $0.0.hasPrefix("device/") }.map(\.1) == [nil])
        #expect(world.subscriptions.values.allSatisfy { $0.addressKind == .installationID })
        #expect(decision.withdrawals.isEmpty)
        // A channel that is added with the move is joined.
        let later = try world.decide(
            .change("phone") {
                $0.address = .set(.init(.installationID, "fid-c"))
                $0.adds = ["channel/news"]
            })
        let news = later.subscriptions.filter { $0.put?.subscription.audience == "channel/news" }
        #expect(news.map(\.since) == [nil])
    }

    @Test(
        "A device whose address has died joins nothing when it is there again, with another address or the same one",
        arguments: ["fid-b", "token-a"])
    func rotationOfTheDead(next: String) throws {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a", person: "17", "channel/offers"))
        let first = world.time
        world.time = world.time + 100_000
        let death = Death(.fcm, reason: "UNREGISTERED", at: world.time)
        try world.decide(
            .buryAddress(AddressHash(of: "token-a"), Evidence(death, app: nil, environment: nil)), by: .sender)
        #expect(world.audiences(of: "token-a") == [])
        world.time = world.time + 100_000
        let decision = try world.decide(.put("phone", ByteText(next), person: "17", "channel/offers", "channel/news"))
        let since = Dictionary(uniqueKeysWithValues: decision.subscriptions.map { ($0.key.audience, $0.since) })
        #expect(since["channel/offers"] == first && since["user/17"] == first && since["channel/news"] == .some(nil))
    }

    @Test("A delayed PUT with an older generation is refused, and one without is in the log's order")
    func generation() throws {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-b", generation: 2))
        #expect(
            try world.decide(.put("phone", "token-a", generation: 1)).verdict
                == .refused(.staleGeneration(current: 2)))
        #expect(world.devices["phone"]?.live?.value == "token-b")
        try world.decide(.put("phone", "token-a"))
        #expect(world.devices["phone"]?.live?.value == "token-a")
        #expect(world.devices["phone"]?.generation == 2)
    }

    @Test("A login of another person takes away what was the last one's, in one decision, and what is on its way")
    func login() throws {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a", person: "17", "channel/offers", "place/1"))
        let decision = try world.decide(
            .put("phone", "token-a", person: "18", "channel/offers"), by: .user("18", issuedAt: world.time))
        #expect(decision.verdict == .changed(revision: 1))
        #expect(world.audiences(of: "token-a") == ["channel/offers", "user/18"])
        #expect(
            decision.withdrawals == [Withdrawal(AddressHash(of: "token-a"), .audiences(["place/1", "user/17"]))])
    }

    @Test("A rotation takes nothing back; what ends the person's time takes back what is on its way to each address")
    func loginAndRotation() throws {
        let all = ["token-a", "token-b", "token-c"].map { Withdrawal(AddressHash(of: $0), .everything) }
        func rotated() throws -> RegistrarWorld {
            var world = try RegistrarWorld()
            for token in ["token-a", "token-b", "token-c"] {
                let put = Action.put("phone", ByteText(token), person: "17", "channel/offers", "place/1")
                #expect(try world.decide(put).withdrawals.isEmpty)
            }
            return world
        }
        for end in [Action.put("phone", "token-d", person: "18"), .deleteDevice("phone"), .erasePerson("17")] {
            var world = try rotated()
            #expect(try world.decide(end).withdrawals == all, "\(end)")
            #expect(world.devices["phone"]?.left ?? [] == [])
        }
        for end in [Action.put("phone", nil, person: "17"), .change("phone") { $0.address = .remove }] {
            var world = try rotated()
            #expect(try world.decide(end).withdrawals == all, "\(end)")
        }
        let personal = Withdrawal(AddressHash(of: "token-c"), .audiences(["place/1", "user/17"]))
        var world = try rotated()
        #expect(try world.decide(.logOut("phone")).withdrawals == [all[0], all[1], personal])
        // Once is enough.
        #expect(try world.decide(.deleteDevice("phone")).withdrawals == [all[2]])
        // Who takes the last one has the phone; the others are the same phone's.
        world = try rotated()
        #expect(try world.decide(.put("new", "token-c", person: "18")).withdrawals == [all[0], all[1], personal])
        // What another device has by now is its own.
        world = try rotated()
        try world.decide(.put("new", "token-b", person: "17"))
        #expect(try world.decide(.deleteDevice("phone")).withdrawals == [all[0], all[2]])
    }

    @Test("An address that a device has left is known for as long as a push lives, and eight of them")
    func leftAddresses() throws {
        func hash(_ number: Int) -> AddressHash { AddressHash(of: "token-\(number)") }
        var world = try RegistrarWorld()
        for number in 0...8 {
            let put = Action.put("phone", ByteText("token-\(number)"), person: "17")
            #expect(try world.decide(put).withdrawals.isEmpty)
        }
        #expect(world.devices["phone"]?.left == (0..<8).map { LeftAddress(hash($0), at: world.time) })
        let ninth = try world.decide(.put("phone", "token-9", person: "17"))
        #expect(ninth.withdrawals == [Withdrawal(hash(0), .everything)])
        // It has this one again.
        try world.decide(.put("phone", "token-5", person: "17"))
        #expect(world.devices["phone"]?.left.map(\.hash) == [1, 2, 3, 4, 6, 7, 8, 9].map(hash))
        let state = try #require(world.devices["phone"])
        var reader = JSONReader()
        #expect(DeviceState(state.json, &reader) == state)
        world.time = world.time + 28 * 86_400_000
        #expect(
            try world.decide(.put("phone", "token-10", person: "18")).withdrawals
                == [Withdrawal(hash(5), .everything)])
        // What a provider calls dead may be reached all the same.
        world.time = world.time + 1
        try world.decide(
            .buryAddress(hash(10), Evidence(Death(.fcm, reason: "UNREGISTERED", at: world.time))))
        try world.decide(.put("phone", "token-11", person: "18"))
        #expect(world.devices["phone"]?.left == [LeftAddress(hash(10), at: world.time)])
    }

    @Test("What a provider calls dead may still be written to: a logout and an erasure take back what is on its way")
    func deadAndGone() throws {
        for end in [Action.erasePerson("17"), .deleteDevice("phone"), .logOut("phone")] {
            var world = try RegistrarWorld()
            try world.decide(.put("phone", "token-a", person: "17", "place/1"))
            world.time = world.time + 3_600_000
            try world.decide(
                .buryAddress(
                    AddressHash(of: "token-a"), Evidence(Death(.fcm, reason: "UNREGISTERED", at: world.time))))
            let decision = try world.decide(end)
            #expect(decision.withdrawals == [Withdrawal(AddressHash(of: "token-a"), .everything)], "\(end)")
        }
    }

    @Test(
        "Whoever logs in with an address that was dead, or that the phone had before, gets nothing of who had it then")
    func anothersAddress() throws {
        let everything = ["token-a", "token-b"].map { Withdrawal(AddressHash(of: $0), .everything) }
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a", person: "17", "place/1"))
        world.time = world.time + 3_600_000
        let evidence = Evidence(Death(.fcm, reason: "UNREGISTERED", at: world.time))
        try world.decide(.buryAddress(AddressHash(of: "token-a"), evidence))
        // The same person's start revives it, and takes nothing back.
        #expect(try world.decide(.put("phone", "token-a", person: "17", "place/1")).withdrawals.isEmpty)
        world.time = world.time + 3_600_000
        let later = Evidence(Death(.fcm, reason: "UNREGISTERED", at: world.time))
        try world.decide(.buryAddress(AddressHash(of: "token-a"), later))
        #expect(try world.decide(.put("phone", "token-a", person: "18")).withdrawals == [everything[0]])
        world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a", person: "17", "place/1"))
        try world.decide(.put("phone", "token-b", person: "17", "place/1"))
        world.write(Subscription(audience: "place/7", token: "token-a", platform: .fcm, app: ""))
        #expect(try world.decide(.put("phone", "token-a", person: "18")).withdrawals == everything)
    }

    @Test("What was removed just before a logout is taken back with the rest")
    func removedBefore() throws {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a", person: "17", "place/1"))
        world.remove(audience: "user/17", token: "token-a")
        #expect(
            try world.decide(.logOut("phone")).withdrawals
                == [Withdrawal(AddressHash(of: "token-a"), .audiences(["place/1", "user/17"]))])
    }

    @Test("A logout keeps the channels, takes the person and all else that is not a channel, whoever wrote it")
    func logout() throws {
        var world = try RegistrarWorld()
        try world.decide(.set("17", "place/42"))
        try world.decide(.put("phone", "token-a", person: "17", "channel/offers", "place/1", newCredential: "c0ffee"))
        world.write(Subscription(audience: "place/7", token: "token-a", platform: .fcm, app: ""))
        let decision = try world.decide(.logOut("phone"), by: .device("c0ffee"))
        #expect(decision.verdict == .changed(revision: 2))
        #expect(world.audiences(of: "token-a") == ["channel/offers"])
        #expect(
            decision.withdrawals == [
                Withdrawal(AddressHash(of: "token-a"), .audiences(["place/1", "place/42", "place/7", "user/17"]))
            ])
        #expect(try world.decide(.logOut("phone"), by: .device("c0ffee")).verdict == .unchanged(revision: 2))
    }

    @Test("An address that another device registers moves to it, with nothing of the first one's person")
    func takenOver() throws {
        var world = try RegistrarWorld()
        try world.decide(.put("old", "token-a", person: "17", "channel/offers", "place/1"))
        let decision = try world.decide(
            .put("new", "token-a", person: "18", "channel/offers"), by: .user("18", issuedAt: world.time))
        #expect(world.audiences(of: "token-a") == ["channel/offers", "user/18"])
        #expect(world.devices["old"]?.address == .claimed(AddressHash(of: "token-a"), at: world.time))
        #expect(decision.devices.map(\.id) == ["old", "new"])
        #expect(
            decision.withdrawals == [Withdrawal(AddressHash(of: "token-a"), .audiences(["place/1", "user/17"]))])
        // What the first one does from now on does not touch it.
        try world.decide(.deleteDevice("old"))
        #expect(world.audiences(of: "token-a") == ["channel/offers", "user/18"])
        // A move to it is a claim as well, and so takes all that it has.
        try world.decide(.put("third", "token-c", person: "19", "channel/news"))
        try world.decide(.move("third", to: "token-a", .registrationToken))
        #expect(world.audiences(of: "token-a") == ["channel/news", "user/19"])
    }

    @Test("A device that is unregistered loses every subscription, whoever wrote it, and what is on its way")
    func unregistered() throws {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a", person: "17", "channel/offers"))
        world.write(Subscription(audience: "place/7", token: "token-a", platform: .fcm, app: ""))
        let decision = try world.decide(.deleteDevice("phone"))
        #expect(decision.verdict == .gone)
        #expect(decision.withdrawals == [Withdrawal(AddressHash(of: "token-a"), .everything)])
        #expect(world.subscriptions.isEmpty)
        #expect(world.devices.isEmpty)
        let again = try world.decide(.deleteDevice("phone"))
        #expect(again.verdict == .gone)
        #expect(!again.changes)
        #expect(try world.decide(.put("phone", "token-a")).verdict == .created(revision: 3))
    }

    @Test("If-Match and If-None-Match are decided by the state, of two processes that race only the first wins")
    func conditions() throws {
        var world = try RegistrarWorld()
        #expect(try world.decide(.put("phone", "token-a"), if: .isNew).verdict == .created(revision: 0))
        #expect(
            try world.decide(.put("phone", "token-b"), if: .isNew).verdict
                == .refused(.preconditionFailed(revision: 0)))
        #expect(try world.decide(.put("phone", "token-b"), if: .revision(0)).verdict == .changed(revision: 2))
        #expect(
            try world.decide(.put("phone", "token-c"), if: .revision(0)).verdict
                == .refused(.preconditionFailed(revision: 2)))
        #expect(
            try world.decide(.deleteDevice("other"), if: .exists).verdict
                == .refused(.preconditionFailed(revision: nil)))
        #expect(try world.decide(.deleteDevice("phone"), if: .revision(2)).verdict == .gone)
    }

    @Test("More audiences than a device may have are refused, and nothing is written")
    func tooMany() throws {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a"))
        let change = Action.change("phone") { change in change.adds = (0...200).map { ByteText("channel/\($0)") } }
        let decision = try world.decide(change)
        #expect(decision == Decision(.refused(.tooManyAudiences(most: 200))))
    }

    @Test("Audiences are told apart by bytes: one accent, written in two ways, is two audiences")
    func bytes() throws {
        var world = try RegistrarWorld()
        try world.decide(.put("phone", "token-a", "channel/caf\u{e9}", "channel/cafe\u{301}"))
        #expect(world.devices["phone"]?.audiences.count == 2)
        #expect(try world.table.subscriptions(of: AddressHash(of: "token-a")).count == 3)
    }
}
