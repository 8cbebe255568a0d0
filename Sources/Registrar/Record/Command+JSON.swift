import JSONReader
import Notifications

extension Command {
    private static let version: Int64 = 1

    /// The value of its record. A member that is null is removed, one that is absent is kept.
    package var json: [UInt8] {
        var list = MemberList()
        list.add("version", Self.version)
        author.add(to: &list)
        switch condition {
        case nil: break
        case .revision(let revision): list.add("if_revision", revision)
        case .exists: list.add("if_exists", json: true)
        case .isNew: list.add("if_exists", json: false)
        case .isOf(let person): list.add("if_person", person)
        case .bringsNobodyBack: list.add("unless_erased", json: true)
        }
        switch action {
        case .changeDevice(let change):
            list.add("action", "change_device")
            change.add(to: &list)
        case .deleteDevice(let id):
            list.add("action", "delete_device")
            list.add("device", ByteText(id.text))
        case .buryAddress(let hash, let evidence):
            list.add("action", "bury_address")
            list.add("address_sha256", ByteText(hash.hex))
            list.add("platform", ByteText(evidence.death.platform.rawValue))
            list.add("app", evidence.app)
            list.add("environment", evidence.environment.map { ByteText($0.rawValue) })
            list.add("reason", evidence.death.reason)
            list.add("at", evidence.death.at)
        case .changePerson(let change):
            list.add("action", "change_person")
            list.add("person", change.person)
            list.add("audiences", json: change.audiences.map(Document.texts))
            list.add("locale", change.locale)
            list.add("time_zone", change.timeZone)
        case .erasePerson(let person):
            list.add("action", "erase_person")
            list.add("person", person)
        }
        return list.bytes
    }

    /// Nil if it is not of this version's form.
    package init?(_ json: [UInt8], _ reader: inout JSONReader) {
        let command = json.withUnsafeBytes { bytes -> Command? in
            guard let value = try? reader.parse(bytes), let members = StateMembers(value, version: Self.version),
                let author = Author(members), let action = Action(members),
                members.each("if_revision", is: { $0.integer != nil }),
                members.each("if_exists", is: { $0.boolean != nil }),
                members.each("if_person", is: { $0.string != nil }),
                members.each("unless_erased", is: { $0.boolean == true })
            else { return nil }
            var condition = members.integer("if_revision").map(Condition.revision)
            if let exists = members.object.member("if_exists")?.boolean { condition = exists ? .exists : .isNew }
            if let person = members.text("if_person") { condition = .isOf(person) }
            if members.object.member("unless_erased") != nil { condition = .bringsNobodyBack }
            return Command(action, by: author, if: condition)
        }
        guard let command else { return nil }
        self = command
    }
}

extension Author {
    fileprivate func add(to list: inout MemberList) {
        switch self {
        case .key(let id): list.add("by", ByteText("key:\(id)"))
        case .user(let person, let issued):
            list.add("by", ByteText("user:\(person)"))
            list.add("issued_at", issued)
        case .device(let credential): list.add("by", ByteText("device:\(credential)"))
        case .sender: list.add("by", "sender")
        }
    }

    fileprivate init?(_ members: StateMembers) {
        guard let text = members.text("by")?.text else { return nil }
        // By bytes: an accent that begins an id would be one character with the colon before it.
        let bytes = Array(text.utf8)
        let colon = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
        let rest = String(decoding: bytes[colon...].dropFirst(), as: UTF8.self)
        switch String(decoding: bytes[..<colon], as: UTF8.self) {
        case "key": self = .key(rest)
        case "user":
            guard let issued = members.time("issued_at") else { return nil }
            self = .user(ByteText(rest), issuedAt: issued)
        case "device": self = .device(ByteText(rest))
        case "sender": self = .sender
        default: return nil
        }
    }
}

extension Action {
    fileprivate init?(_ members: StateMembers) {
        switch members.text("action") {
        case "change_device":
            guard let change = DeviceChange(members) else { return nil }
            self = .changeDevice(change)
        case "delete_device":
            guard let id = members.text("device").flatMap({ DeviceID($0.text) }) else { return nil }
            self = .deleteDevice(id)
        case "bury_address":
            guard let hash = members.text("address_sha256").flatMap({ AddressHash(hex: $0.text) }),
                let platform: Platform = members.one("platform"), let reason = members.text("reason"),
                reason.text.utf8.count <= 255, let time = members.time("at"),
                members.each("app", is: { $0.string.map { $0.bytes.count <= 255 } ?? false }),
                members.each("environment", is: { $0.string.flatMap { PushEnvironment(rawValue: String($0)) } != nil })
            else { return nil }
            self = .buryAddress(
                hash,
                Evidence(
                    Death(platform, reason: reason, at: time), app: members.text("app"),
                    environment: members.one("environment")))
        case "change_person":
            guard let person = members.text("person"), let audiences = members.texts("audiences"),
                members.each("locale", "time_zone", is: { $0.isNull || $0.string != nil })
            else { return nil }
            var change = PersonChange(person)
            change.audiences = members.object.member("audiences") == nil ? nil : audiences
            change.locale = members.change("locale")
            change.timeZone = members.change("time_zone")
            self = .changePerson(change)
        case "erase_person":
            guard let person = members.text("person") else { return nil }
            self = .erasePerson(person)
        default: return nil
        }
    }
}

extension DeviceChange {
    fileprivate func add(to list: inout MemberList) {
        list.add("device", ByteText(device.text))
        list.add("whole", json: .boolean(isWhole))
        switch address {
        case .keep: break
        case .remove: list.add("address", json: .null)
        case .set(let new):
            list.add("address", json: ["kind": .text(new.kind.rawValue), "value": .text(new.value.text)])
        }
        list.add("app", app)
        list.add("environment", environment.map { ByteText($0.rawValue) })
        list.add("locale", locale)
        list.add("time_zone", timeZone)
        list.add("person", person)
        list.add("audiences", json: audiences.map(Document.texts))
        if !adds.isEmpty { list.add("adds", json: .texts(adds)) }
        if !removes.isEmpty { list.add("removes", json: .texts(removes)) }
        list.add("generation", generation)
        list.add("new_credential", newCredential)
    }

    fileprivate init?(_ members: StateMembers) {
        guard let device = members.text("device").flatMap({ DeviceID($0.text) }),
            let isWhole = members.object.member("whole")?.boolean, let audiences = members.texts("audiences"),
            let adds = members.texts("adds"), let removes = members.texts("removes"),
            members.each("app", is: { $0.string != nil }),
            members.each("generation", is: { $0.integer.map(DeviceChange.generations.contains) ?? false }),
            members.each("locale", "time_zone", "person", is: { $0.isNull || $0.string != nil }),
            members.each("environment", is: { $0.string.flatMap { PushEnvironment(rawValue: String($0)) } != nil }),
            members.each("new_credential", is: { $0.string.map { SubscriptionKey.isTokenHash(String($0)) } ?? false })
        else { return nil }
        self.init(device, isWhole: isWhole)
        if let value = members.object.member("address") {
            let address = StateMembers(value)
            if value.isNull {
                self.address = .remove
            } else {
                guard let kind: AddressKind = address.one("kind"), let text = address.text("value") else { return nil }
                self.address = .set(NewAddress(kind, text))
            }
        }
        app = members.text("app")
        environment = members.one("environment")
        locale = members.change("locale")
        timeZone = members.change("time_zone")
        person = members.change("person")
        self.audiences = members.object.member("audiences") == nil ? nil : audiences
        (self.adds, self.removes) = (adds, removes)
        generation = members.integer("generation")
        newCredential = members.text("new_credential")
    }
}

extension StateMembers {
    fileprivate func change(_ name: StaticString) -> Change<ByteText> {
        guard let value = object.member(name) else { return .keep }
        return value.string.map { .set(ByteText(String($0))) } ?? .remove
    }
}

extension MemberList {
    fileprivate mutating func add(_ name: String, _ change: Change<ByteText>) {
        switch change {
        case .keep: break
        case .remove: add(name, json: .null)
        case .set(let text): add(name, text)
        }
    }
}
