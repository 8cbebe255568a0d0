import NotificationPayload

/// Which request comes next, and what an answer means. A value: no clock, no network, no store.
///
/// A user token, which expires, says who is logged in, and registers the whole device. The device credential, which does not expire,
/// can only reduce or refresh: so a logout and a new address need no token.
struct RegistrationMachine {
    enum Goal: Equatable {
        case registered(DeviceProfile)
        case unregistered
    }

    enum Step: Equatable {
        /// - Parameter isRefused: the one before was refused.
        case askToken(person: String, isRefused: Bool)
        case send(RegistrationRequest)
        case done(RegistrationOutcome)
    }

    enum Answer: Equatable {
        /// ``next()`` says how.
        case goOn
        /// The same again, later. If there is no time for that, it has ended so.
        case again(after: Int?, else: RegistrationOutcome)
        case done(RegistrationOutcome)
    }

    private enum Deed {
        /// The whole device.
        case register
        /// The same again, for a new credential: the answer with the one before was lost, or there was none.
        case askSecret
        /// Address, language and time zone.
        case refresh
        case logOut, unregister
    }

    private enum Credential {
        case user, device
    }

    /// So many answers of one goal may ask for another way.
    private static let mostTurns = 8

    private(set) var installation: Installation
    private var goal: Goal
    private let makeInstallation: () -> Installation
    /// Of the person that was asked for.
    private var token: (person: String, text: String?)?
    /// The person whose token the server has refused.
    private var refused: String?
    private var sent: (deed: Deed, credential: Credential)?
    /// Whether the next change is sent without its generation, to learn the device's.
    private var asksGeneration = false
    /// Whether the device first shows its new address by its credential, so that another person may log in.
    private var isShowing = false
    private var hasShown = false
    private var asksSecret = false
    /// What this installation was before it took another id.
    private var former: Installation?
    private var turns = 0

    /// - Parameter makeInstallation: one with a new id.
    init(_ installation: Installation, _ goal: Goal, makeInstallation: @escaping () -> Installation) {
        (self.installation, self.goal, self.makeInstallation) = (installation, goal, makeInstallation)
    }

    /// Takes a newer goal. What was learned of the installation stays.
    mutating func take(_ goal: Goal) {
        self = RegistrationMachine(installation, goal, makeInstallation: makeInstallation)
    }

    mutating func take(token text: String?, of person: String) { token = (person, text) }

    mutating func next() -> Step {
        switch goal {
        case .unregistered:
            guard installation.digest != nil else { return .done(.unregistered) }
            return end(.unregister)
        case .registered(let profile):
            guard let person = profile.person else {
                if installation.person != nil { return end(.logOut) }
                guard installation.secret != nil else {
                    return .done(installation.digest == nil ? .needsUserToken : .loggedOut)
                }
                return send(.refresh, profile.refreshed, .device)
            }
            if isShowing, installation.secret != nil {
                return installation.person == nil ? send(.refresh, profile.refreshed, .device) : end(.logOut)
            }
            if let step = ask(person) { return step }
            if token?.text != nil {
                // If the answer is lost, a logout must know of the login.
                installation.person = person
                return send(asksSecret ? .askSecret : .register, profile.members, .user)
            }
            // What the server has of the same person may be refreshed without a token.
            guard installation.person == person, installation.secret != nil else { return .done(.needsUserToken) }
            return send(.refresh, profile.refreshed, .device)
        }
    }

    /// By the credential, else by a token of who is logged in.
    private mutating func end(_ deed: Deed) -> Step {
        if installation.secret != nil { return send(deed, nil, .device) }
        guard let person = installation.person else { return .done(.needsUserToken) }
        if let step = ask(person) { return step }
        return token?.text == nil ? .done(.needsUserToken) : send(deed, nil, .user)
    }

    /// Nil where the token of this person was asked for.
    private mutating func ask(_ person: String) -> Step? {
        if let token, token.person == person { return nil }
        return .askToken(person: person, isRefused: refused == person)
    }

    /// - Parameter members: of the body, without the generation; nil: there is none.
    private mutating func send(_ deed: Deed, _ members: [String: PushValue]?, _ credential: Credential) -> Step {
        sent = (deed, credential)
        let path = "/v1/devices/\(installation.id)"
        let authorization =
            switch credential {
            case .user: "Bearer \(token?.text ?? "")"
            case .device: "Device \(installation.id):\(installation.secret ?? "")"
            }
        let body = members.map { installation.body($0, hasGeneration: !asksGeneration) }
        let (method, rest) =
            switch deed {
            case .register: ("PUT", "")
            case .askSecret: ("PUT", "?new_secret=1")
            case .refresh: ("PATCH", "")
            case .logOut: ("DELETE", "/person")
            case .unregister: ("DELETE", "")
            }
        return .send(RegistrationRequest(method: method, path: path + rest, authorization: authorization, body: body))
    }

    /// - Parameter response: nil: there was none.
    mutating func take(_ response: RegistrationResponse?) -> Answer {
        guard let response, let sent else { return .again(after: nil, else: asksSecret ? .registered : .notReached) }
        switch response.status {
        case 202: return .again(after: response.retryAfter, else: asksSecret ? .registered : .recorded)
        case 408, 425, 429, 500...:
            return .again(after: response.retryAfter, else: asksSecret ? .registered : .notReached)
        case 410: return .done(.personErased)
        default: break
        }
        let body = PushValue(json: response.body)
        let code = body?["code"]?.string ?? ""
        let refusal = RegistrationOutcome.refused(
            status: response.status, code: code, detail: body?["detail"]?.string ?? "")
        turns += 1
        switch (response.status, sent.deed) {
        case (200...201, .register): return changed(body, .registered)
        case (200, .refresh): return changed(body, installation.person == nil ? .loggedOut : .refreshed)
        case (_, .askSecret):
            installation.secret = response.status == 200 ? body?["secret"]?.string : nil
            // Without one the next start asks again.
            return .done(.registered)
        // What is not there, or is not this person's, is as it should be.
        case (200, .logOut), (204, .logOut), (404, .logOut):
            installation.person = nil
            if response.status == 404, sent.credential == .device { installation.secret = nil }
            return .goOn
        case (200, .unregister), (204, .unregister), (404, .unregister):
            (installation.secret, installation.person, installation.digest) = (nil, nil, nil)
            return .done(.unregistered)
        case _ where turns >= Self.mostTurns: return .done(refusal)
        case (401, _), (404, _):
            return refused(sent.credential, isToken: response.status == 401) ? .goOn : .done(refusal)
        case (409, .register), (409, .refresh):
            guard code == "stale-generation", !asksGeneration else { return .done(refusal) }
            asksGeneration = true
            return .goOn
        default: return .done(refusal)
        }
    }

    /// - Parameter body: the device as it is now.
    private mutating func changed(_ body: PushValue?, _ outcome: RegistrationOutcome) -> Answer {
        if let secret = body?["secret"]?.string { installation.secret = secret }
        if asksGeneration {
            // It is the device's, and what was sent gets the next one.
            installation.generation = max(
                installation.generation, min(body?["generation"]?.int ?? 0, Installation.latestGeneration))
            (installation.digest, asksGeneration) = (0, false)
            return .goOn
        }
        if isShowing {
            isShowing = false
            return .goOn
        }
        guard installation.secret == nil else { return .done(outcome) }
        asksSecret = true
        return .goOn
    }

    /// - Parameter isToken: whether it is the token or the credential that was not accepted, and not what was asked for.
    /// - Returns: whether there is another way.
    private mutating func refused(_ credential: Credential, isToken: Bool) -> Bool {
        switch credential {
        case .device:
            // The device was forgotten.
            (installation.secret, isShowing) = (nil, false)
        case .user where isToken:
            guard let person = token?.person, refused != person else { return false }
            (token, refused) = (nil, person)
        // It is another person's, and has another address.
        case .user where installation.secret != nil && !hasShown: (isShowing, hasShown) = (true, true)
        case .user:
            if let former {
                // Not for the id.
                installation = former
                return false
            }
            // Nothing shows any more that this is the same phone. Its address moves to a device with another id.
            former = installation
            installation = makeInstallation()
        }
        return true
    }
}
