import Notifications
import StateStore

extension RegistrarCore {
    func change(
        _ change: PersonChange, _ command: Command, at offset: Int64, _ time: WallTime
    ) throws(StoreError) -> Decision {
        let before = try table.person(change.person)
        if let refusal = try refusal(of: change, command, before) { return Decision(.refused(refusal)) }
        var after = before ?? PersonState(change.person, revision: offset)
        if let audiences = change.audiences { after.audiences = Set(audiences).sorted() }
        after.locale = change.locale.applied(to: after.locale)
        after.timeZone = change.timeZone.applied(to: after.timeZone)
        if let before, before == after { return Decision(.unchanged(revision: before.revision)) }
        after.revision = offset

        var decision = Decision(before == nil ? .created(revision: offset) : .changed(revision: offset))
        let lost = Set(before?.audiences ?? []).subtracting(after.audiences)
        table.set(change.person, after)
        decision.people.append((change.person, after))
        for id in try table.devices(of: change.person) {
            guard let device = try table.device(id), let address = device.live else { continue }
            let wanted = try audiences(of: device)
            try removeSubscriptions(of: address.hash, in: &decision) { lost.contains($0) && !wanted.contains($0) }
            try replace(device, by: device, id: device.id, .own, at: offset, time, in: &decision)
        }
        return decision
    }

    func erase(_ person: ByteText, _ command: Command, _ time: WallTime) throws(StoreError) -> Decision {
        switch command.author {
        case .key: break
        case .user, .device, .sender: return Decision(.refused(.notFound))
        }
        let before = try table.person(person)
        let ids = try table.devices(of: person)
        if let refusal = Self.refusal(of: command.condition, revision: before?.revision) {
            return Decision(.refused(refusal))
        }
        var decision = Decision(.erased(devices: ids.count))
        var erased: [AddressHash] = []
        for id in ids {
            guard let device = try table.device(id) else { continue }
            erased += try addresses(of: device)
            try forget(device, time, in: &decision)
        }
        erased += try unsubscribe(person, in: &decision)
        // The record takes the place of that of an earlier erasure. Those of devices are fewer than it may have.
        var addresses = try table.erasure(of: person)?.addresses ?? [:]
        for address in erased.prefix(Erasure.mostAddresses) { addresses[address] = time }
        if before != nil {
            table.set(person, nil)
            decision.people.append((person, nil))
        }
        let erasure = Erasure(PersonHash(person), at: time, addresses: addresses)
        try table.set(erasure)
        decision.erasures.append(erasure)
        return decision
    }

    /// Those at which a device is, was, or may be, unless another one has them by now.
    private func addresses(of device: DeviceState) throws(StoreError) -> [AddressHash] {
        var addresses: [AddressHash] = []
        for address in device.left.map(\.hash) + [device.address.reached].compactMap({ $0 }) {
            if try table.owner(of: address).map({ $0 == device.id }) ?? true { addresses.append(address) }
        }
        return addresses
    }

    /// Ends the subscriptions `user/<id>` that somebody else has written, at most ``RegistrarTable/mostSubscriptions``.
    ///
    /// - Returns: of their addresses those that no device has.
    private func unsubscribe(_ person: ByteText, in decision: inout Decision) throws(StoreError) -> [AddressHash] {
        let audience = ByteText("user/\(person)")
        var nobodys: [AddressHash] = []
        for address in try table.addresses(of: person) {
            let key = SubscriptionKey(audience: audience.text, tokenHash: address.hex)
            write(SubscriptionChange(key: key), in: &decision)
            decision.withdraw(address, .audiences([audience]))
            if try table.owner(of: address) == nil { nobodys.append(address) }
        }
        return nobodys
    }
}
