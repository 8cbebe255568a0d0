import Synchronization

@testable import DeviceRegistration

/// One phone's app, with all that it gives to its registration.
struct FakeApp {
    let server: FakeServer
    let store: MemoryInstallations
    let clock: FakeClock
    /// By person, what the shop's backend gives; what the server accepts is `server.state.tokens`.
    let tokens: Tokens
    let registration: DeviceRegistration

    final class Tokens: Sendable {
        let state = Mutex<(given: [String: [String]], asked: [Bool])>(([:], []))

        /// The next tokens of a person; the last one is given again.
        func give(_ tokens: String..., to person: String) { state.withLock { $0.given[person] = tokens } }

        func token(of person: String, isRefused: Bool) -> String? {
            state.withLock { state in
                state.asked.append(isRefused)
                guard var given = state.given[person], let first = given.first else { return nil }
                if given.count > 1 { given.removeFirst() }
                state.given[person] = given
                return first
            }
        }
    }

    /// - Parameter app: whose server, store, clock and tokens it has: the same app after another start.
    init(after app: FakeApp? = nil) {
        let (server, store) = (app?.server ?? FakeServer(), app?.store ?? MemoryInstallations())
        let (clock, tokens) = (app?.clock ?? FakeClock(), app?.tokens ?? Tokens())
        (self.server, self.store, self.clock, self.tokens) = (server, store, clock, tokens)
        registration = DeviceRegistration(
            store: store, send: { try server.take($0) },
            userToken: { tokens.token(of: $0, isRefused: $1) }, clock: clock, random: { 0 })
        guard app == nil else { return }
        for person in ["ada", "ben"] {
            tokens.give("token-\(person)", to: person)
            server.state.withLock { $0.tokens[person] = "token-\(person)" }
        }
    }

    func profile(_ person: String? = "ada", address: String = "fid-1", audiences: [String] = ["place/42"])
        -> DeviceProfile
    {
        DeviceProfile(
            app: "com.example.shop", address: .init(.installationID, address), locale: "de", person: person,
            audiences: audiences)
    }

    func device() async throws -> FakeServer.Device? { server.devices[try await registration.installationID()] }
}
