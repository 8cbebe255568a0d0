import JSONReader
import Notifications

extension DeviceState {
    private static let version: Int64 = 2

    /// The value of its record. Times are milliseconds since 1970.
    package var json: [UInt8] {
        var list = MemberList()
        list.add("version", Self.version)
        list.add("device", ByteText(id.text))
        list.add("revision", revision)
        list.add("address", json: address.document)
        list.add("left", json: left.isEmpty ? nil : .list(left.map(\.document)))
        list.add("app", app)
        list.add("environment", ByteText(environment.rawValue))
        list.add("locale", locale)
        list.add("time_zone", timeZone)
        list.add("person", person)
        list.add("audiences", json: .texts(audiences))
        list.add("generation", generation)
        list.add("credential", credential)
        list.add("registered_at", registeredAt)
        list.add("seen_at", seenAt)
        list.add("refreshed_at", refreshedAt)
        return list.bytes
    }

    /// Nil if it is not of this version's form.
    package init?(_ json: [UInt8], _ reader: inout JSONReader) {
        let state = json.withUnsafeBytes { bytes in (try? reader.parse(bytes)).flatMap { DeviceState($0) } }
        guard let state else { return nil }
        self = state
    }

    private init?(_ value: JSONValue) {
        guard let members = StateMembers(value, version: Self.version),
            let id = members.text("device").flatMap({ DeviceID($0.text) }), let revision = members.integer("revision"),
            let address = members.object.member("address").flatMap({ AddressState($0) }),
            let left = members.list("left", of: { LeftAddress($0) }), let app = members.text("app"),
            let environment: PushEnvironment = members.one("environment"), let audiences = members.texts("audiences"),
            let registered = members.time("registered_at"), let seen = members.time("seen_at"),
            let refreshed = members.time("refreshed_at")
        else { return nil }
        self.init(id, revision: revision, registeredAt: registered)
        (self.address, self.left, self.app) = (address, left, app)
        (self.environment, self.audiences) = (environment, audiences)
        locale = members.text("locale")
        timeZone = members.text("time_zone")
        person = members.text("person")
        generation = members.integer("generation")
        credential = members.text("credential")
        (seenAt, refreshedAt) = (seen, refreshed)
    }
}

extension LeftAddress {
    fileprivate var document: Document {
        var list = MemberList()
        list.add("sha256", ByteText(hash.hex))
        list.add("at", at)
        return .object(list.members)
    }

    fileprivate init?(_ object: JSONValue) {
        let members = StateMembers(object)
        guard let hash = members.text("sha256").flatMap({ AddressHash(hex: $0.text) }), let time = members.time("at")
        else { return nil }
        self.init(hash, at: time)
    }
}

extension AddressState {
    fileprivate var document: Document {
        var list = MemberList()
        switch self {
        case .none:
            list.add("state", "none")
        case .live(let address):
            list.add("state", "live")
            list.add("kind", ByteText(address.kind.rawValue))
            list.add("value", address.value)
            list.add("since", address.since)
        case .dead(let hash, let death):
            list.add("state", "dead")
            list.add("sha256", ByteText(hash.hex))
            list.add("platform", ByteText(death.platform.rawValue))
            list.add("reason", death.reason)
            list.add("at", death.at)
        case .claimed(let hash, let time):
            list.add("state", "claimed")
            list.add("sha256", ByteText(hash.hex))
            list.add("at", time)
        }
        return .object(list.members)
    }

    fileprivate init?(_ object: JSONValue) {
        let members = StateMembers(object)
        switch members.text("state") {
        case "none": self = .none
        case "live":
            guard let kind: AddressKind = members.one("kind"), let value = members.text("value"),
                let since = members.time("since")
            else { return nil }
            self = .live(Address(kind, value, since: since))
        case "dead":
            guard let hash = members.text("sha256").flatMap({ AddressHash(hex: $0.text) }),
                let platform: Platform = members.one("platform"), let reason = members.text("reason"),
                let time = members.time("at")
            else { return nil }
            self = .dead(hash, Death(platform, reason: reason, at: time))
        case "claimed":
            guard let hash = members.text("sha256").flatMap({ AddressHash(hex: $0.text) }),
                let time = members.time("at")
            else { return nil }
            self = .claimed(hash, at: time)
        default: return nil
        }
    }
}
