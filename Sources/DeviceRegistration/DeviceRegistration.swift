/// Registers one installation of an app with Carillon's HTTP API, at every start and whenever something changes.
///
/// It keeps an id of its own, a counter of its changes and the device credential in a store that the app gives. The newest state wins:
/// one request is under way at a time, and what comes meanwhile replaces what waits. What the network or the server cannot do now is
/// tried again, later and later, and at once when the app calls again.
@available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
public actor DeviceRegistration {
    /// Sends a request, and throws where there is no answer.
    public typealias Send = @Sendable (RegistrationRequest) async throws -> RegistrationResponse
    /// Gives a token that the shop's backend has signed for the person who is logged in, and nil where there is none now. `isRefused`:
    /// the server did not accept the one before, so a new one is needed.
    public typealias UserToken = @Sendable (_ person: String, _ isRefused: Bool) async -> String?

    /// In one call. The pauses between them are about 4 minutes in all, or what the server asks for.
    static let mostTries = 9
    private static let longestPause = Duration.seconds(3_600)

    private let store: any InstallationStore
    private let send: Send
    private let userToken: UserToken
    private let clock: any Clock<Duration>
    private let random: @Sendable () -> Double
    private var stored: Installation?
    private var goal = RegistrationMachine.Goal.unregistered
    /// How many there were.
    private(set) var goals = 0
    private var running: Task<RegistrationOutcome, Never>?
    private var pause: Task<Void, Never>?

    /// - Parameters:
    ///   - send: by `URLSession` for example, to the address of the API.
    ///   - clock: for the pauses.
    ///   - random: 0 to 1, for the pauses.
    public init(
        store: any InstallationStore, send: @escaping Send, userToken: @escaping UserToken,
        clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        (self.store, self.send, self.userToken) = (store, send, userToken)
        (self.clock, self.random) = (clock, random)
    }

    /// Registers what the app wants to be: at every start, when the push service gives another address, and at a login. Without a person
    /// it is the logout, which needs no token once the device was registered.
    ///
    /// - Returns: how the newest state has ended, when it has. A task that is cancelled does not end it.
    @discardableResult
    public func register(_ profile: DeviceProfile) async -> RegistrationOutcome {
        await reach(.registered(profile))
    }

    /// Has the server forget the device, with all subscriptions of its address.
    @discardableResult
    public func unregister() async -> RegistrationOutcome { await reach(.unregistered) }

    /// The id by which the server knows this installation.
    public func installationID() throws -> String { try installation().id }

    private func reach(_ goal: RegistrationMachine.Goal) async -> RegistrationOutcome {
        self.goal = goal
        goals += 1
        pause?.cancel()
        let task = running ?? Task { await run() }
        running = task
        return await task.value
    }

    private func run() async -> RegistrationOutcome {
        defer { running = nil }
        guard let found = try? installation() else { return .notStored }
        var machine = RegistrationMachine(found, goal, makeInstallation: Self.makeInstallation)
        var (reached, failures) = (goals, 0)
        while true {
            if reached != goals {
                (reached, failures) = (goals, 0)
                machine.take(goal)
            }
            let outcome: RegistrationOutcome?
            switch machine.next() {
            case .done(let end): outcome = end
            case .askToken(let person, let isRefused):
                machine.take(token: await userToken(person, isRefused), of: person)
                outcome = nil
            case .send(let request):
                // A generation that is sent must never be used again.
                guard keep(machine.installation) else { return .notStored }
                let answer = machine.take(try? await send(request))
                guard keep(machine.installation) else { return .notStored }
                switch answer {
                case .goOn: outcome = nil
                case .done(let end): outcome = end
                case .again(let seconds, let end):
                    failures += 1
                    outcome = failures < Self.mostTries ? nil : end
                    if outcome == nil, reached == goals { await rest(failures, atLeast: seconds) }
                }
            }
            if let outcome, reached == goals { return outcome }
        }
    }

    /// Half of 1, 2, 4 … 128 s, and up to as much again by chance, so that a fleet does not come back at once.
    private func rest(_ failures: Int, atLeast seconds: Int?) async {
        let most = Duration.seconds(1 << min(failures - 1, 7))
        let pause = max(most * (0.5 + random() / 2), min(.seconds(seconds ?? 0), Self.longestPause))
        let task = Task { [clock] in _ = try? await clock.sleep(for: pause) }
        self.pause = task
        await task.value
        self.pause = nil
    }

    private func installation() throws -> Installation {
        if let stored { return stored }
        if let text = try store.load(), let found = Installation(text: text) {
            stored = found
            return found
        }
        let new = Self.makeInstallation()
        try store.save(new.text)
        stored = new
        return new
    }

    /// - Returns: whether it is stored.
    private func keep(_ installation: Installation) -> Bool {
        if installation == stored { return true }
        guard (try? store.save(installation.text)) != nil else { return false }
        stored = installation
        return true
    }

    private static func makeInstallation() -> Installation {
        Installation(number: (UInt64.random(in: 0...UInt64.max), UInt64.random(in: 0...UInt64.max)))
    }
}
