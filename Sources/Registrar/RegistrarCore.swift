import Notifications
import StateStore

/// The decisions about devices, people and their subscriptions: a pure function of a table and a command, in the order of
/// the log of commands. No clock, no I/O but the table's. One owner.
///
/// A decision is in the table at once, so that the next one of the same transaction sees it.
package struct RegistrarCore {
    /// What is known of when a device was seen is as precise as this: its app calls at every start, and most starts change nothing.
    static let seenPrecision: Int64 = 86_400_000
    /// Its subscriptions are written again after this time, if nothing else changes. Far below `subscriptions.max-age`.
    static let refreshesAfter: Int64 = 7 * seenPrecision

    let table: RegistrarTable

    package init(_ table: RegistrarTable) {
        self.table = table
    }

    /// - Parameters:
    ///   - offset: the command's, which becomes the revision of what it changes.
    ///   - time: when the broker has appended it.
    package func decide(_ command: Command, at offset: Int64, time: WallTime) throws(StoreError) -> Decision {
        if try isErased(command.author) { return Decision(.refused(.personErased)) }
        return switch command.action {
        case .changeDevice(let change): try self.change(change, command, at: offset, time)
        case .deleteDevice(let id): try delete(id, command, time)
        case .buryAddress(let address, let evidence): try bury(address, evidence, command.author, at: offset)
        case .changePerson(let change): try self.change(change, command, at: offset, time)
        case .erasePerson(let person): try erase(person, command, time)
        }
    }

    /// Whether a command asks of a device for what is so already, and nothing would be written for it at this time; false:
    /// the registrar has to decide it. It sees no subscription and no erasure.
    package static func isUnchanged(_ device: DeviceState, by command: Command, at time: WallTime) -> Bool {
        guard case .changeDevice(let change) = command.action, command.condition == nil,
            time - device.seenAt < seenPrecision, time - device.refreshedAt < refreshesAfter
        else { return false }
        var after = device
        apply(change, to: &after, time)
        return device == after && refusal(of: change, command, device, after) == nil
    }

    /// Whether a change would bring back a person or an address that was erased, as far as the table knows.
    package func bringsBack(_ change: DeviceChange) throws(StoreError) -> Bool {
        try bringsBack(change, table.device(change.device))
    }

    // MARK: A device

    private func change(
        _ change: DeviceChange, _ command: Command, at offset: Int64, _ time: WallTime
    ) throws(StoreError) -> Decision {
        let before = try table.device(change.device)
        guard before != nil || change.isWhole else { return Decision(.refused(.notFound)) }
        if let before, Self.isRepeatedLogout(change, of: before, by: command.author) {
            return Decision(.unchanged(revision: before.revision))
        }
        var after = before ?? DeviceState(change.device, revision: offset, registeredAt: time)
        Self.apply(change, to: &after, time)
        if command.condition == .bringsNobodyBack, try bringsBack(change, before) {
            return Decision(.refused(.personErased))
        }
        if let refusal = Self.refusal(of: change, command, before, after) { return Decision(.refused(refusal)) }

        let isSame = before.map { Self.says($0, theSameAs: after) } ?? false
        if time - after.seenAt >= Self.seenPrecision { after.seenAt = time }
        let hasMoved = before?.live?.hash != after.live?.hash
        if hasMoved || time - after.refreshedAt >= Self.refreshesAfter { after.refreshedAt = time }
        if !isSame { after.revision = offset }

        var decision = Decision(
            before == nil
                ? .created(revision: offset)
                : isSame ? .unchanged(revision: after.revision) : .changed(revision: offset))
        let reach: Reach =
            change.isWhole ? .everything : before?.person != after.person ? .session : .own
        try replace(before, by: after, id: change.device, reach, at: offset, time, in: &decision)
        if let person = after.person, before?.person != person {
            try forgetOldest(of: person, but: change.device, time, in: &decision)
        }
        return decision
    }

    /// Makes of the device what the change says.
    private static func apply(_ change: DeviceChange, to state: inout DeviceState, _ time: WallTime) {
        func member(_ new: Change<ByteText>, _ value: ByteText?) -> ByteText? {
            change.isWhole && new == .keep ? nil : new.applied(to: value)
        }
        let person = member(change.person, state.person)
        switch change.address {
        case .keep: if change.isWhole { state.address = .none }
        case .remove: state.address = .none
        case .set(let new):
            let isSame = state.live?.value == new.value && state.live?.kind == new.kind
            if !isSame { state.address = .live(Address(new.kind, new.value, since: time)) }
        }
        if let app = change.app { state.app = app }
        state.environment = change.environment ?? (change.isWhole ? .production : state.environment)
        state.locale = member(change.locale, state.locale)
        state.timeZone = member(change.timeZone, state.timeZone)
        var audiences = Set(change.audiences ?? (change.isWhole ? [] : state.audiences))
        if state.person != person, change.audiences == nil {
            audiences = audiences.filter { $0.audience == .channel }
        }
        audiences.subtract(change.removes)
        audiences.formUnion(change.adds)
        state.audiences = audiences.sorted()
        state.person = person
        if let generation = change.generation { state.generation = generation }
        if let credential = change.newCredential { state.credential = credential }
    }

    /// Whether a client would see no difference.
    private static func says(_ before: DeviceState, theSameAs after: DeviceState) -> Bool {
        var after = after
        (after.revision, after.seenAt, after.refreshedAt) = (before.revision, before.seenAt, before.refreshedAt)
        return before == after
    }

    private func delete(_ id: DeviceID, _ command: Command, _ time: WallTime) throws(StoreError) -> Decision {
        let before = try table.device(id)
        let refusal =
            before.flatMap { Self.refusal(of: command.author, $0, shownAddress: nil) }
            ?? Self.refusal(of: command.condition, revision: before?.revision, person: before?.person)
        if let refusal { return Decision(.refused(refusal)) }
        var decision = Decision(.gone)
        if let before { try forget(before, time, in: &decision) }
        return decision
    }

    /// Removes a device, with every subscription of its address.
    func forget(_ device: DeviceState, _ time: WallTime, in decision: inout Decision) throws(StoreError) {
        var left = device.left
        if let address = device.address.reached { left.append(LeftAddress(address, at: time)) }
        try withdraw(&left, but: 0, of: device.id, time, in: &decision)
        if let address = device.live?.hash { try unsubscribe(address, of: device.id, in: &decision) }
        try set(device.id, nil, in: &decision)
    }

    /// What the provider says of the address's device, or, where no device of that app has it, of each of its subscriptions.
    private func bury(
        _ address: AddressHash, _ evidence: Evidence, _ author: Author, at offset: Int64
    ) throws(StoreError) -> Decision {
        switch author {
        case .key, .sender: break
        case .user, .device: return Decision(.refused(.notFound))
        }
        var decision = Decision(.changed(revision: offset))
        decision.evidence = evidence.death.at
        if let id = try table.owner(of: address), var state = try table.device(id), let live = state.live,
            evidence.fits(live.kind.platform, state.environment, app: { $0 == state.app })
        {
            guard evidence.death.at > max(live.since, state.seenAt) else { return Decision(.gone) }
            try removeSubscriptions(of: address, in: &decision) { _ in true }
            state.address = .dead(address, evidence.death)
            state.revision = offset
            try set(id, state, in: &decision)
        } else {
            // What a device of another app is to have, somebody else has overwritten: the device's next start mends it.
            let owner = try table.owner(of: address).flatMap { id throws(StoreError) in try table.device(id) }
            let wanted = try owner.map { device throws(StoreError) in try audiences(of: device) } ?? []
            let dead = try table.subscriptions(of: address).filter { $0.entry.isDead(by: evidence) }.map(\.audience)
            try removeSubscriptions(of: address, in: &decision) { dead.contains($0) && !wanted.contains($0) }
        }
        return decision.changes ? decision : Decision(.gone)
    }

    /// Of a person's devices beyond the most, the one that was seen longest ago.
    private func forgetOldest(
        of person: ByteText, but newest: DeviceID, _ time: WallTime, in decision: inout Decision
    ) throws(StoreError) {
        let ids = try table.devices(of: person)
        guard ids.count > PersonState.mostDevices else { return }
        var oldest: DeviceState?
        for id in ids where id != newest {
            guard let state = try table.device(id) else { continue }
            if oldest.map({ state.seenAt < $0.seenAt }) ?? true { oldest = state }
        }
        if let oldest { try forget(oldest, time, in: &decision) }
    }

    // MARK: Writing

    func set(_ id: DeviceID, _ state: DeviceState?, in decision: inout Decision) throws(StoreError) {
        try table.set(id, state)
        decision.devices.append((id, state))
    }

    func write(_ change: SubscriptionChange, in decision: inout Decision) {
        table.set(change.key, change.put.map { SubscriptionEntry($0.subscription, $0.value) })
        decision.subscriptions.append(change)
    }
}
