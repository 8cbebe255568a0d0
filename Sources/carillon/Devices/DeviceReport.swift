import Foundation
import Pipeline
import Registrar

/// A device without its address and its credential. Its members are those of `GET /v1/devices/{device}`.
struct DeviceReport: Report, TableRow {
    struct Address: Encodable {
        var state: String
        var kind: String?
        var sha256: String?
        var provider: String?
        var reason: String?
        var since: WallTime?
    }

    var device: String
    var revision: Int64
    var address: Address
    var app: String
    var environment: String
    var locale: String?
    var timeZone: String?
    var person: String?
    /// What the backend has set for the person; nil where there is none, or it was not asked for.
    var personAudiences: [String]?
    var audiences: [String]
    var generation: Int64?
    var registeredAt: WallTime
    /// To a day.
    var seenAt: WallTime

    init(_ state: DeviceState, _ person: PersonState? = nil) {
        device = state.id.text
        revision = state.revision
        address = Address(state.address)
        app = state.app.text
        environment = state.environment.rawValue
        locale = state.locale?.text
        timeZone = state.timeZone?.text
        self.person = state.person?.text
        personAudiences = person?.audiences.map(\.text)
        audiences = state.audiences.map(\.text)
        generation = state.generation
        registeredAt = state.registeredAt
        seenAt = state.seenAt
    }

    static var keys: JSONEncoder.KeyEncodingStrategy { .convertToSnakeCase }

    var rows: [Row] {
        var rows: [Row] = [.pair("device", device), .pair("address", address.text)]
        if let hash = address.sha256 { rows.append(.pair("SHA-256", hash)) }
        rows += [.pair("app", "\(app), \(environment)"), .pair("person", person ?? "nobody")]
        rows.append(.pair("audiences", audiences.isEmpty ? "none" : audiences.joined(separator: ", ")))
        if let granted = personAudiences, !granted.isEmpty {
            rows.append(.pair("of its person", granted.joined(separator: ", ")))
        }
        rows += [("locale", locale), ("time zone", timeZone), ("generation", generation.map { "\($0)" })].compactMap {
            name, value in value.map { .pair(name, $0) }
        }
        return rows + [
            .pair("registered", "\(registeredAt)"), .pair("last seen", "\(seenAt), to a day"),
            .pair("revision", "\(revision)"),
        ]
    }

    static let heading = ["DEVICE", "ADDRESS", "PERSON", "APP", "LAST SEEN", "ADDRESS HASH"]

    var cells: [String] { [device, address.state, person ?? "-", app, "\(seenAt)", address.sha256 ?? "-"] }
}

extension DeviceReport.Address {
    init(_ state: AddressState) {
        switch state {
        case .none: self.init(state: "none")
        case .live(let address):
            self.init(state: "live", kind: address.kind.rawValue, sha256: address.hash.hex, since: address.since)
        case .dead(let hash, let death):
            self.init(
                state: "dead", sha256: hash.hex, provider: death.platform.rawValue, reason: death.reason.text,
                since: death.at)
        case .claimed(let hash, let time): self.init(state: "claimed", sha256: hash.hex, since: time)
        }
    }

    fileprivate var text: String {
        let place = [kind, provider, reason].compactMap(\.self).joined(separator: " ")
        let words = [state, place.isEmpty ? nil : place, since.map { "since \($0)" }]
        return words.compactMap(\.self).joined(separator: ", ")
    }
}

extension AddressState {
    /// The SHA-256 of the address that the device has, or had.
    var hash: AddressHash? {
        switch self {
        case .none: nil
        case .live(let address): address.hash
        case .dead(let hash, _), .claimed(let hash, _): hash
        }
    }
}
