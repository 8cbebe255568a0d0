import Synchronization
import Testing

@testable import DeviceRegistration

@Suite("The newest state wins", .timeLimit(.minutes(30))) struct CoalescingTests {
    /// Lets a test hold requests back.
    private actor Gate {
        private var isOpen = false
        private var waiting: [CheckedContinuation<Void, Never>] = []
        private var arrived = 0
        private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        func pass() async {
            arrived += 1
            watchers = watchers.filter { watcher in
                guard watcher.count <= arrived else { return true }
                watcher.continuation.resume()
                return false
            }
            if !isOpen { await withCheckedContinuation { waiting.append($0) } }
        }

        /// Returns once so many have come.
        func waitForArrivals(_ count: Int) async {
            guard arrived < count else { return }
            await withCheckedContinuation { watchers.append((count, $0)) }
        }

        func open() {
            isOpen = true
            for each in waiting { each.resume() }
            waiting = []
        }
    }

    @Test(
        "one request is under way; of the states that come meanwhile only the newest is sent, and all callers hear of it"
    )
    func newest() async throws {
        let (app, gate) = (FakeApp(), Gate())
        let underWay = Mutex((now: 0, most: 0))
        let registration = DeviceRegistration(
            store: app.store,
            send: { request in
                underWay.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                defer { underWay.withLock { $0.now -= 1 } }
                await gate.pass()
                return try app.server.take(request)
            }, userToken: { app.tokens.token(of: $0, isRefused: $1) }, clock: app.clock, random: { 0 })
        async let first = registration.register(app.profile(address: "fid-1"))
        await gate.waitForArrivals(1)
        async let others = withTaskGroup { group in
            for number in 2...9 { group.addTask { await registration.register(app.profile(address: "fid-\(number)")) } }
            return await group.reduce(into: [RegistrationOutcome]()) { $0.append($1) }
        }
        // A call that comes after them all: its state is the newest.
        while await registration.goals < 9 { await Task.yield() }
        async let last = registration.register(app.profile(address: "fid-10"))
        while await registration.goals < 10 { await Task.yield() }
        await gate.open()
        #expect(await [first, last] + others == Array(repeating: .registered, count: 10))
        let addresses = app.server.state.withLock { $0.requests.map { $0.body?["address"]?["value"]?.string } }
        #expect(addresses == ["fid-1", "fid-10"])
        #expect(underWay.withLock { $0.most } == 1)
    }

    /// A clock whose pauses end by being cancelled alone.
    private final class StillClock: Clock {
        typealias Instant = FakeClock.Instant
        var minimumResolution: Swift.Duration { .zero }
        let now = Instant()
        let pauses = Atomic(0)

        func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
            pauses.add(1, ordering: .relaxed)
            while !Task.isCancelled { await Task.yield() }
            throw CancellationError()
        }
    }

    @Test("a call ends the pause before the next try, with what it asks for")
    func wakes() async throws {
        let (app, clock) = (FakeApp(), StillClock())
        let registration = DeviceRegistration(
            store: app.store, send: { try app.server.take($0) }, userToken: { app.tokens.token(of: $0, isRefused: $1) },
            clock: clock, random: { 0 })
        app.server.answer(nil)
        async let first = registration.register(app.profile(address: "fid-1"))
        while clock.pauses.load(ordering: .relaxed) == 0 { await Task.yield() }
        #expect(await registration.register(app.profile(address: "fid-2")) == .registered)
        #expect(await first == .registered)
        #expect(app.server.devices.values.map(\.address) == ["fid-2"])
    }

    @Test("a logout that comes while a login is under way is what holds in the end")
    func logoutDuringLogin() async throws {
        let (app, gate) = (FakeApp(), Gate())
        let registration = DeviceRegistration(
            store: app.store,
            send: { request in
                await gate.pass()
                return try app.server.take(request)
            }, userToken: { app.tokens.token(of: $0, isRefused: $1) }, clock: app.clock, random: { 0 })
        async let login = registration.register(app.profile())
        await gate.waitForArrivals(1)
        async let logout = registration.register(app.profile(nil))
        while await registration.goals < 2 { await Task.yield() }
        await gate.open()
        #expect(await [login, logout] == [.loggedOut, .loggedOut])
        #expect(app.server.devices.values.map(\.person) == [nil])
    }
}
