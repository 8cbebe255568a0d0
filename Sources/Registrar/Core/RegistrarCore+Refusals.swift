import Notifications
import StateStore

extension RegistrarCore {
    /// Why a device is not changed; nil: it is. In the order in which a client can mend them.
    static func refusal(
        of change: DeviceChange, _ command: Command, _ before: DeviceState?, _ after: DeviceState
    ) -> Refusal? {
        let shown: ByteText? =
            switch change.address {
            case .set(let new): new.value
            case .keep, .remove: nil
            }
        if let before {
            if let refusal = refusal(of: command.author, before, shownAddress: shown) { return refusal }
        }
        if let refusal = refusal(of: command.condition, revision: before?.revision, person: before?.person) {
            return refusal
        }
        if let current = before?.generation, let generation = change.generation, generation < current {
            return .staleGeneration(current: current)
        }
        switch command.author {
        case .device:
            // It reduces or refreshes.
            guard let before else { return .notByCredential }
            let adds = Set(after.audiences).subtracting(before.audiences)
            let isOther = after.person != nil && after.person != before.person
            guard adds.isEmpty, !isOther, after.app == before.app, after.environment == before.environment,
                change.newCredential == nil
            else { return .notByCredential }
        case .user(let person, _):
            // Nobody logs another person in, or changes the device of one who is logged in.
            guard after.person == nil || after.person == person else { return .notThisDevice }
            // A credential outlives the login, so that it is for whoever has the device, not for a session.
            if change.newCredential != nil, let live = before?.live, shown != live.value { return .notThisDevice }
        case .sender: return .notFound
        case .key: break
        }
        guard after.audiences.count <= DeviceState.mostAudiences else {
            return .tooManyAudiences(most: DeviceState.mostAudiences)
        }
        let problems = problems(of: after)
        return problems.isEmpty ? nil : .invalid(problems)
    }

    /// Whether a user asks again for a logout, since the answer was lost. The device is nobody's by then, so that nothing
    /// shows any more that it was the user's; and nothing changes.
    static func isRepeatedLogout(_ change: DeviceChange, of device: DeviceState, by author: Author) -> Bool {
        guard device.person == nil else { return false }
        var logout = DeviceChange(change.device)
        logout.person = .remove
        switch author {
        case .user: return change == logout
        case .key, .device, .sender: return false
        }
    }

    func refusal(
        of change: PersonChange, _ command: Command, _ before: PersonState?
    ) throws(StoreError) -> Refusal? {
        switch command.author {
        case .key: break
        case .user(let person, _) where person == change.person && change.audiences == nil: break
        case .user, .device, .sender: return .notFound
        }
        if let refusal = Self.refusal(of: command.condition, revision: before?.revision) { return refusal }
        guard change.audiences?.count ?? 0 <= PersonState.mostAudiences else {
            return .tooManyAudiences(most: PersonState.mostAudiences)
        }
        let problems =
            Self.problems(ofPerson: change.person)
            + Self.problems(
                of: change.audiences ?? [], change.locale.applied(to: nil), change.timeZone.applied(to: nil))
        return problems.isEmpty ? nil : .invalid(problems)
    }

    /// Why a device cannot be so: its subscriptions would be none, or it would name whom it may not.
    private static func problems(of device: DeviceState) -> [String] {
        var problems: [String] = []
        if let address = device.live {
            do {
                try subscription(device, address, to: ByteText("device/\(address.hash.hex)")).validate()
            } catch {
                problems += error.problems
            }
        }
        if device.app.text.utf8.count > 255 { problems.append("app is longer than 255 bytes") }
        if let person = device.person { problems += Self.problems(ofPerson: person) }
        return problems + Self.problems(of: device.audiences, device.locale, device.timeZone)
    }

    private static func problems(ofPerson id: ByteText) -> [String] {
        ByteText("user/\(id)").audience == .user
            ? [] : ["person is not an id: allowed are 1 to 1,019 bytes without control characters"]
    }

    private static func problems(of audiences: [ByteText], _ locale: ByteText?, _ timeZone: ByteText?) -> [String] {
        let isAllowed = audiences.allSatisfy { audience in
            switch audience.audience {
            case .place, .channel: true
            // They follow from the person and the address.
            case .user, .device, nil: false
            }
        }
        var problems: [String] = []
        if !isAllowed { problems.append("audiences has another than place/<id> and channel/<id>") }
        for (name, text) in [("locale", locale), ("time_zone", timeZone)] where text?.text.utf8.count ?? 0 > 255 {
            problems.append("\(name) is longer than 255 bytes")
        }
        return problems
    }

    /// A token from before the erasure of its person is an app's that has not noticed; a newer one is a person's who came
    /// back.
    func isErased(_ author: Author) throws(StoreError) -> Bool {
        switch author {
        case .user(let person, let issued): try table.erasure(of: person).map { issued <= $0.at } ?? false
        // With the person the devices are gone: one that is there is of somebody who came back.
        case .key, .sender, .device: false
        }
    }

    /// Whether a device gets a person or an address that was erased, and that it does not have already.
    func bringsBack(_ change: DeviceChange, _ before: DeviceState?) throws(StoreError) -> Bool {
        if let person = change.person.applied(to: nil), person != before?.person,
            try table.erasure(of: person) != nil
        {
            return true
        }
        guard let address = change.address.applied(to: nil).map({ AddressHash(of: $0.value.text) }),
            address != before?.live?.hash
        else { return false }
        return try table.erasure(of: address) != nil
    }

    /// Who may change a device: a backend; its person; whoever has its credential; and whoever knows its address, which its
    /// provider tells nobody else.
    static func refusal(of author: Author, _ device: DeviceState, shownAddress: ByteText?) -> Refusal? {
        switch author {
        case .key: return nil
        case .user(let person, _):
            if device.person == person { return nil }
            // It is nobody's, and has nothing by which to know its app again.
            if device.person == nil, device.live == nil { return nil }
            return shownAddress != nil && shownAddress == device.live?.value ? nil : .notThisDevice
        case .device(let credential): return device.credential == credential ? nil : .notThisDevice
        case .sender: return .notFound
        }
    }

    /// - Parameter person: the device's; nil: it has none, or it is no device.
    static func refusal(of condition: Condition?, revision: Int64?, person: ByteText? = nil) -> Refusal? {
        let holds: Bool
        switch condition {
        case nil: holds = true
        case .revision(let wanted): holds = revision == wanted
        case .exists: holds = revision != nil
        case .isNew: holds = revision == nil
        case .isOf(let wanted): return person == wanted ? nil : .notFound
        // Only a change of a device can.
        case .bringsNobodyBack: holds = true
        }
        return holds ? nil : .preconditionFailed(revision: revision)
    }
}
