import Notifications
import Registrar

/// What the log of commands says of a person: those that name the person, those that the person has sent, and those about a
/// device on which such a command has logged the person in.
struct PersonHistory {
    private let person: ByteText
    /// Those that are the person's now: whether a registrar has done what a user asked for the log of commands does not say.
    private let owned: Set<DeviceID>
    private var devices: Set<DeviceID> = []

    init(of person: ByteText, owning owned: Set<DeviceID>) {
        (self.person, self.owned) = (person, owned)
    }

    /// Takes the commands in their order.
    ///
    /// - Returns: the command without addresses; nil: it is not about the person.
    mutating func take(_ command: Command, at position: Int64, _ time: WallTime) -> Document? {
        var members: [(name: String, value: Document)] = [
            ("position", .integer(position)), ("at", .text(time.iso8601)), ("by", .text(command.author.kind)),
        ]
        guard let (action, isTheirs) = read(command) else { return nil }
        guard isTheirs || command.author.isPerson(person) else { return nil }
        members += action
        return .object(members)
    }

    /// What a command does, and whether it is about the person; nil: it names no person and no device.
    private mutating func read(_ command: Command) -> (members: [(name: String, value: Document)], isTheirs: Bool)? {
        switch command.action {
        case .changeDevice(let change):
            let wasTheirs = devices.contains(change.device)
            var isTheirs = wasTheirs
            switch change.person {
            case .set(person): isTheirs = true
            case .set, .remove: isTheirs = false
            case .keep: if change.isWhole { isTheirs = false }
            }
            let isProven = wasTheirs || !command.author.isPerson(person) || owned.contains(change.device)
            if isTheirs, isProven { devices.insert(change.device) } else { devices.remove(change.device) }
            // Another person's login says only that this one has left.
            let isShown = isTheirs || change.person == .remove || command.author.isPerson(person)
            let members = isShown ? change.members : []
            return (
                [("action", "change_device"), ("device", .text(change.device.text))] + members, isTheirs || wasTheirs
            )
        case .deleteDevice(let id):
            return ([("action", "delete_device"), ("device", .text(id.text))], devices.remove(id) != nil)
        case .changePerson(let change):
            return ([("action", "change_person")] + change.members, change.person == person)
        case .erasePerson(let erased): return ([("action", "erase_person")], erased == person)
        case .buryAddress: return nil
        }
    }
}

extension Author {
    /// A key's id says nothing of the person.
    fileprivate var kind: String {
        switch self {
        case .key: "key"
        case .user: "user"
        case .device: "device"
        case .sender: "sender"
        }
    }

    fileprivate func isPerson(_ person: ByteText) -> Bool {
        switch self {
        case .user(person, _): true
        case .user, .key, .device, .sender: false
        }
    }
}

extension DeviceChange {
    fileprivate var members: [(name: String, value: Document)] {
        var members: [(name: String, value: Document)] = []
        switch address {
        case .keep: break
        case .remove: members.append(("address", .null))
        case .set(let new):
            let hash = AddressHash(of: new.value.text)
            members.append(("address", ["kind": .text(new.kind.rawValue), "sha256": .text(hash.hex)]))
        }
        if let app { members.append(("app", .text(app.text))) }
        members += locale.member("locale") + timeZone.member("time_zone") + person.member("person")
        for (name, list) in [("audiences", audiences), ("adds", adds), ("removes", removes)] {
            if let list, name == "audiences" || !list.isEmpty {
                members.append((name, .list(list.map { .text($0.text) })))
            }
        }
        return members
    }
}

extension PersonChange {
    fileprivate var members: [(name: String, value: Document)] {
        var members = locale.member("locale") + timeZone.member("time_zone")
        if let audiences { members.append(("audiences", .list(audiences.map { .text($0.text) }))) }
        return members
    }
}

extension Change<ByteText> {
    fileprivate func member(_ name: String) -> [(name: String, value: Document)] {
        switch self {
        case .keep: []
        case .remove: [(name, .null)]
        case .set(let text): [(name, .text(text.text))]
        }
    }
}
