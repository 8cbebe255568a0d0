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
        for id in ids {
            if let device = try table.device(id) { try forget(device, time, in: &decision) }
        }
        if before != nil {
            table.set(person, nil)
            decision.people.append((person, nil))
        }
        let erasure = Erasure(PersonHash(person), at: time)
        table.set(erasure)
        decision.erasures.append(erasure)
        return decision
    }
}
