import Synchronization
import Testing

@testable import DeviceRegistration

@Suite("An app registers its installation", .timeLimit(.minutes(30))) struct DeviceRegistrationTests {
    private let app = FakeApp()

    private func register(_ profile: DeviceProfile, _ app: FakeApp? = nil) async -> RegistrationOutcome {
        await (app ?? self.app).registration.register(profile)
    }

    @Test("the first start registers with the user's token, and keeps id, generation and credential")
    func first() async throws {
        #expect(await register(app.profile()) == .registered)
        #expect(app.server.requests == ["Bearer PUT "])
        let device = try #require(try await app.device())
        #expect(device.person == "ada" && device.address == "fid-1" && device.generation == 1)
        let id = try await app.registration.installationID()
        #expect(id.count == 32 && id.allSatisfy { $0.isHexDigit })
        let kept = try #require(app.store.text.flatMap { Installation(text: $0) })
        #expect(kept.id == id && kept.generation == 1 && kept.secret == "secret-1" && kept.person == "ada")
    }

    @Test("each start sends the same again, with the same id and generation; a change raises it by one")
    func again() async throws {
        _ = await register(app.profile())
        let next = FakeApp(after: app)
        #expect(await register(next.profile(), next) == .registered)
        let sent = app.server.state.withLock { $0.requests.compactMap(\.body) }
        #expect(sent.count == 2 && sent[0] == sent[1])
        #expect(await register(next.profile(address: "fid-2"), next) == .registered)
        let device = try #require(try await next.device())
        #expect(device.address == "fid-2" && device.generation == 2 && app.server.devices.count == 1)
    }

    @Test("a logout needs no user token: the credential ends the session, and refreshes the address")
    func logout() async throws {
        _ = await register(app.profile(audiences: ["place/42", "channel/offers"]))
        app.tokens.state.withLock { $0.given = [:] }
        let out = app.profile(nil, address: "fid-2", audiences: ["place/42", "channel/offers"])
        #expect(await register(out) == .loggedOut)
        #expect(app.server.requests.dropFirst() == ["Device DELETE person", "Device PATCH "])
        let device = try #require(try await app.device())
        #expect(device.person == nil && device.address == "fid-2" && device.audiences == ["channel/offers"])
        // At the next start nobody is logged in, and nothing has to be ended.
        let next = FakeApp(after: app)
        #expect(await register(out, next) == .loggedOut)
        #expect(app.server.requests.dropFirst(3) == ["Device PATCH "])
    }

    @Test(
        "a logout without the network is done at the next start, as far as the app still says that nobody is logged in")
    func offline() async throws {
        _ = await register(app.profile())
        app.server.state.withLock { $0.faults = Array(repeating: nil, count: DeviceRegistration.mostTries) }
        #expect(await register(app.profile(nil)) == .notReached)
        #expect(try await app.device()?.person == "ada")
        let next = FakeApp(after: app)
        #expect(await register(next.profile(nil), next) == .loggedOut)
        #expect(try await next.device()?.person == nil)
    }

    @Test("a login whose answer was lost is logged out, too")
    func lostLogin() async throws {
        _ = await register(app.profile())
        #expect(await register(app.profile(nil)) == .loggedOut)
        let registration = DeviceRegistration(
            store: app.store,
            send: { [app] request in
                _ = try app.server.take(request)
                throw FakeServer.NoAnswer()
            }, userToken: { [app] in app.tokens.token(of: $0, isRefused: $1) }, clock: app.clock, random: { 0 })
        #expect(await registration.register(app.profile("ben")) == .notReached)
        #expect(try await app.device()?.person == "ben")
        let next = FakeApp(after: app)
        #expect(await register(next.profile(nil), next) == .loggedOut)
        #expect(try await next.device()?.person == nil)
    }

    @Test("another person logs in on the phone, and the one before gets nothing any more")
    func anotherPerson() async throws {
        _ = await register(app.profile())
        #expect(await register(app.profile("ben", audiences: ["place/7"])) == .registered)
        let device = try #require(try await app.device())
        #expect(device.person == "ben" && device.audiences == ["place/7"])
    }

    @Test("another person logs in after the address has changed: the credential shows that it is the same phone")
    func anotherPersonAndAddress() async throws {
        _ = await register(app.profile())
        #expect(await register(app.profile("ben", address: "fid-2")) == .registered)
        #expect(
            app.server.requests.dropFirst() == [
                "Bearer PUT ", "Device DELETE person", "Device PATCH ", "Bearer PUT ",
            ])
        #expect(app.server.devices.count == 1)
        #expect(try await app.device()?.person == "ben")
    }

    @Test("an id that the server has for somebody else, where nothing shows that it is the same phone, is given up")
    func anotherID() async throws {
        _ = await register(app.profile())
        let id = try await app.registration.installationID()
        app.server.state.withLock { $0.devices[id]?.secret = "lost" }
        #expect(await register(app.profile("ben", address: "fid-2")) == .registered)
        #expect(try await app.registration.installationID() != id)
        #expect(try await app.device()?.person == "ben")
        #expect(app.server.devices.count == 2)
    }

    @Test("what is refused with another id, too, is refused, and the id stays")
    func notForTheID() async throws {
        let id = try await app.registration.installationID()
        app.server.answer(FakeServer.problem(404, "not-found"), FakeServer.problem(404, "not-found"))
        #expect(await register(app.profile()) == .refused(status: 404, code: "not-found", detail: "a sentence"))
        #expect(try await app.registration.installationID() == id)
        #expect(app.server.requests.count == 2)
    }

    @Test("a token that is refused is replaced by a new one, once")
    func newToken() async throws {
        app.tokens.give("expired", "token-ada", to: "ada")
        #expect(await register(app.profile()) == .registered)
        #expect(app.tokens.state.withLock { $0.asked } == [false, true])
        app.tokens.give("expired", to: "ada")
        let refused = RegistrationOutcome.refused(status: 401, code: "expired-token", detail: "a sentence")
        #expect(await register(app.profile(address: "fid-2")) == refused)
    }

    @Test("without a token nothing is registered; an address that has changed is, by the credential")
    func noToken() async throws {
        app.tokens.state.withLock { $0.given = [:] }
        #expect(await register(app.profile()) == .needsUserToken)
        #expect(await register(app.profile(nil)) == .needsUserToken)
        #expect(app.server.requests.isEmpty)
        app.tokens.give("token-ada", to: "ada")
        _ = await register(app.profile())
        app.tokens.state.withLock { $0.given = [:] }
        #expect(await register(app.profile(address: "fid-2", audiences: ["place/43"])) == .refreshed)
        let device = try #require(try await app.device())
        #expect(device.address == "fid-2" && device.person == "ada" && device.audiences == ["place/42"])
        #expect(await register(app.profile("ben")) == .needsUserToken)
    }

    @Test("a credential that the server does not know is dropped: the device was forgotten, and with it the login")
    func noCredential() async throws {
        _ = await register(app.profile())
        app.server.state.withLock { $0.devices = [:] }
        #expect(await register(app.profile(nil)) == .loggedOut)
        #expect(app.server.requests.dropFirst() == ["Device DELETE person"])
        #expect(await register(app.profile()) == .registered)
        #expect(app.store.text.flatMap { Installation(text: $0) }?.secret == "secret-2")
    }

    @Test(
        "a credential whose answer was lost is asked for once more at each start, with the address that the device has")
    func lostCredential() async throws {
        let isLost = Mutex(true)
        let registration = DeviceRegistration(
            store: app.store,
            send: { [app] request in
                let response = try app.server.take(request)
                let isFirst = isLost.withLock { isLost in
                    defer { isLost = false }
                    return isLost
                }
                if isFirst { throw FakeServer.NoAnswer() }
                return response
            }, userToken: { [app] in app.tokens.token(of: $0, isRefused: $1) }, clock: app.clock, random: { 0 })
        #expect(await registration.register(app.profile()) == .registered)
        #expect(app.server.requests == Array(repeating: "Bearer PUT ", count: 2) + ["Bearer PUT ?new_secret=1"])
        #expect(app.store.text.flatMap { Installation(text: $0) }?.secret == "secret-2")
        let id = try await registration.installationID()
        try app.store.save(#"{"version":1,"id":"\#(id)","generation":1}"#)
        // Where it cannot be had, the device is registered nevertheless.
        let next = FakeApp(after: app)
        app.server.answer(.init(status: 200), FakeServer.problem(404, "not-found"))
        #expect(await register(next.profile(), next) == .registered)
        #expect(await register(next.profile(), next) == .registered)
        #expect(app.store.text.flatMap { Installation(text: $0) }?.secret == "secret-3")
    }

    @Test("a generation that is too old is replaced by the one after the device's")
    func staleGeneration() async throws {
        _ = await register(app.profile())
        let id = try await app.registration.installationID()
        app.server.state.withLock { $0.devices[id]?.generation = 41 }
        #expect(await register(app.profile(address: "fid-2")) == .registered)
        let generations = app.server.state.withLock { $0.requests.map { $0.body?["generation"]?.int } }
        #expect(generations == [1, 2, nil, 42])
        #expect(try await app.device()?.generation == 42)
    }

    @Test("an erased person is told to the app, and what is not allowed with its code; neither is tried again")
    func refused() async throws {
        app.server.answer(FakeServer.problem(410, "person-erased"), FakeServer.problem(422, "bad-request"))
        #expect(await register(app.profile()) == .personErased)
        #expect(await register(app.profile()) == .refused(status: 422, code: "bad-request", detail: "a sentence"))
        #expect(app.server.requests.count == 2 && app.clock.pauses.isEmpty)
    }

    @Test("no answer, 5xx and 429 are tried again, later and later, and Retry-After is obeyed")
    func retries() async throws {
        app.server.answer(
            nil, .init(status: 503, retryAfter: 20), .init(status: 500), .init(status: 429, retryAfter: 1),
            .init(status: 503, retryAfter: 1_000_000))
        #expect(await register(app.profile()) == .registered)
        #expect(app.clock.pauses == [.milliseconds(500), .seconds(20), .seconds(2), .seconds(4), .seconds(3_600)])
    }

    @Test("a call ends after nine tries, and says whether the last one was recorded")
    func gaveUp() async throws {
        for (answer, outcome) in [
            (nil, .notReached), (RegistrationResponse(status: 202), RegistrationOutcome.recorded),
        ] {
            let app = FakeApp()
            app.server.state.withLock { $0.faults = Array(repeating: answer, count: 100) }
            #expect(await register(app.profile(), app) == outcome)
            #expect(app.server.requests.count == DeviceRegistration.mostTries)
            #expect(app.clock.pauses.reduce(.zero, +) < .seconds(240))
        }
    }

    @Test("chance makes a pause up to twice as long")
    func chance() async throws {
        let app = FakeApp()
        let registration = DeviceRegistration(
            store: app.store, send: { try app.server.take($0) }, userToken: { app.tokens.token(of: $0, isRefused: $1) },
            clock: app.clock, random: { 0.5 })
        app.server.answer(nil, nil)
        #expect(await registration.register(app.profile()) == .registered)
        #expect(app.clock.pauses == [.milliseconds(750), .milliseconds(1_500)])
    }

    @Test("where the store cannot be read or written nothing is sent, and no other id is made")
    func locked() async throws {
        _ = await register(app.profile())
        let next = FakeApp(after: app)
        app.store.lock(true)
        #expect(await register(next.profile(), next) == .notStored)
        #expect(await register(app.profile(address: "fid-2")) == .notStored)
        #expect(app.server.requests.count == 1)
        app.store.lock(false)
        #expect(await register(next.profile(), next) == .registered)
        #expect(app.server.devices.count == 1)
    }

    @Test("a device that is unregistered is forgotten, and registers again with the same id and a new credential")
    func unregistered() async throws {
        #expect(await app.registration.unregister() == .unregistered)
        #expect(app.server.requests.isEmpty)
        _ = await register(app.profile())
        let id = try await app.registration.installationID()
        app.tokens.state.withLock { $0.given = [:] }
        #expect(await app.registration.unregister() == .unregistered)
        #expect(app.server.requests.last == "Device DELETE " && app.server.devices.isEmpty)
        app.tokens.give("token-ada", to: "ada")
        #expect(await register(app.profile()) == .registered)
        #expect(app.server.devices[id]?.secret == "secret-2")
    }

    @Test("a text that is none of a store of this version makes a new installation, and none says its secret")
    func stored() async throws {
        for text in ["", "{}", #"{"version":2,"id":"a","generation":1}"#] { #expect(Installation(text: text) == nil) }
        try app.store.save("nothing")
        #expect(await register(app.profile()) == .registered)
        let address = DeviceProfile.Address(.apnsToken, "a secret")
        let request = RegistrationRequest(method: "PUT", path: "/v1/devices/1", authorization: "Device 1:a secret")
        for shown in ["\(address)", String(reflecting: request), "\(app.profile(address: "a secret"))"] {
            #expect(!shown.contains("a secret"), "\(shown)")
        }
    }
}
