import Notifications
import Pipeline
import StateStore

extension RegistrarCore {
    /// Which subscriptions of its address a change takes away where the device is not to have them.
    enum Reach {
        /// Those that the device has had from the registrar.
        case own
        /// Also those that somebody else has written, but for channels: the person has changed.
        case session
        /// All, whoever wrote them.
        case everything
    }

    /// Writes a device, and what follows for the subscriptions of its address.
    func replace(
        _ before: DeviceState?, by after: DeviceState, id: DeviceID, _ reach: Reach, at offset: Int64, _ time: WallTime,
        in decision: inout Decision
    ) throws(StoreError) {
        let old = before?.live?.hash
        let new = after.live?.hash
        var after = after
        var had: Set<ByteText> = []
        if let before { had = try audiences(of: before) }
        var reach = reach
        var isOthers = before?.person != after.person
        if let new, let owner = try table.owner(of: new), owner != id {
            try claim(new, from: owner, at: offset, time, in: &decision)
            (reach, isOthers) = (.everything, true)
        }
        if let before, isOthers || before.address.reached != after.address.reached {
            after.left = before.left
            if let last = before.address.reached, last != old || old != new {
                after.left.append(LeftAddress(last, at: time))
            }
            // Of the same person it is no left one any more. Of another one older pushes to it are not sent either.
            if !isOthers { after.left.removeAll { $0.hash == new } }
            let isTheirs = new != nil && !isOthers
            try withdraw(&after.left, but: isTheirs ? DeviceState.mostLeft : 0, of: id, time, in: &decision)
        }
        if let old, old != new { try unsubscribe(old, of: id, in: &decision) }
        if before != after { try set(id, after, in: &decision) }
        guard let address = after.live else { return }

        let wanted = try audiences(of: after)
        let isHere = try Dictionary(
            table.subscriptions(of: address.hash).map { ($0.audience, $0.entry.checksum) }, uniquingKeysWith: { $1 })
        let lost = try removeSubscriptions(of: address.hash, in: &decision) { audience in
            guard !wanted.contains(audience) else { return false }
            switch reach {
            case .own: return had.contains(audience)
            case .session: return had.contains(audience) || audience.audience != .channel
            case .everything: return true
            }
        }
        // What was meant for another person must not be shown to this one.
        if isOthers {
            // Also of what it had and somebody has removed since.
            let personal = Set(lost).union(old == new ? had : []).subtracting(wanted)
                .filter { $0.audience != .channel && $0.audience != .device }.sorted()
            if !personal.isEmpty { decision.withdraw(address.hash, .audiences(personal)) }
        }
        let hash = address.hash.hex
        for audience in wanted.sorted() {
            let subscription = Self.subscription(after, address, to: audience)
            let value = subscription.encoded()
            guard isHere[audience] != SubscriptionEntry.checksum(of: value) else { continue }
            let moved =
                before?.address.reached != nil && old != new && had.contains(audience) && isHere[audience] == nil
            let key = SubscriptionKey(audience: audience.text, tokenHash: hash)
            let since = moved ? after.registeredAt : nil
            write(SubscriptionChange(key: key, put: (subscription, value), since: since), in: &decision)
        }
    }

    /// The device has this address no more.
    func unsubscribe(_ address: AddressHash, of id: DeviceID, in decision: inout Decision) throws(StoreError) {
        guard try table.owner(of: address) == id else { return }
        try removeSubscriptions(of: address, in: &decision) { _ in true }
    }

    /// What is on its way to addresses that a device has left is not sent; those that another device has by now are left alone.
    ///
    /// - Parameters:
    ///   - left: in the order in which they were left. What stays in it is not withdrawn, and may be later.
    ///   - kept: how many stay at most.
    func withdraw(
        _ left: inout [LeftAddress], but kept: Int, of id: DeviceID, _ time: WallTime, in decision: inout Decision
    ) throws(StoreError) {
        left.removeAll { time - $0.at >= ControlView.longest }
        while left.count > kept {
            let address = left.removeFirst().hash
            guard try table.owner(of: address).map({ $0 == id }) ?? true else { continue }
            decision.withdraw(address, .everything)
        }
    }

    /// An address belongs to one device: who has it now has shown that it does, since its provider has told its app.
    private func claim(
        _ address: AddressHash, from owner: DeviceID, at offset: Int64, _ time: WallTime, in decision: inout Decision
    ) throws(StoreError) {
        guard var state = try table.device(owner) else { return }
        try withdraw(&state.left, but: 0, of: owner, time, in: &decision)
        state.address = .claimed(address, at: time)
        state.revision = offset
        try set(owner, state, in: &decision)
    }

    /// - Returns: the audiences that the address has no more.
    @discardableResult
    func removeSubscriptions(
        of address: AddressHash, in decision: inout Decision, where isRemoved: (ByteText) -> Bool
    ) throws(StoreError) -> [ByteText] {
        let audiences = try table.subscriptions(of: address).map(\.audience).filter(isRemoved).sorted()
        let hash = address.hex
        for audience in audiences {
            let key = SubscriptionKey(audience: audience.text, tokenHash: hash)
            write(SubscriptionChange(key: key), in: &decision)
        }
        return audiences
    }

    /// Whom a device with an address is subscribed as, or was when its address died: its own audiences, its person and what
    /// the backend has set for that person, and itself.
    func audiences(of device: DeviceState) throws(StoreError) -> Set<ByteText> {
        guard let address = device.address.reached else { return [] }
        var audiences = Set(device.audiences)
        audiences.insert(ByteText("device/\(address.hex)"))
        if let person = device.person {
            audiences.insert(ByteText("user/\(person)"))
            audiences.formUnion(try table.person(person)?.audiences ?? [])
        }
        return audiences
    }

    static func subscription(_ device: DeviceState, _ address: Address, to audience: ByteText) -> Subscription {
        Subscription(
            audience: audience.text, token: address.value.text, platform: address.kind.platform,
            addressKind: address.kind == address.kind.platform.usualKind ? nil : address.kind, app: device.app.text,
            environment: device.environment, locale: device.locale?.text, registeredAt: address.since,
            lastSeenAt: device.refreshedAt)
    }
}
