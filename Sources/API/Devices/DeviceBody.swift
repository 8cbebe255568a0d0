import JSONReader
import Notifications
import Registrar

/// The body of a PUT of a device, the whole device as its app sees it, or of a PATCH, single members of it (RFC 7396).
enum DeviceBody {
    /// - Parameter device: nil: the member `device` has it.
    /// - Throws: everything that is wrong with it.
    static func read(_ bytes: [UInt8], of device: DeviceID?, isWhole: Bool) throws(Problem) -> DeviceChange {
        var reader = JSONReader()
        var (repeated, faults): ([Problem.Fault], [Problem.Fault]) = ([], [])
        let change = try JSONBody.read(bytes, &reader, &repeated) { value throws(Problem) -> DeviceChange in
            guard value.isObject else {
                throw Problem(.badRequest, "the body is no object; allowed is one with the members of a device")
            }
            guard let id = device ?? value.member("device")?.string.flatMap({ DeviceID(String($0)) }) else {
                throw Problem(.badRequest, "device is missing, or not an id; allowed are \(DeviceID.allowed)")
            }
            return self.change(value, DeviceChange(id, isWhole: isWhole), namesDevice: device == nil, &faults)
        }
        if let problem = Problem(repeated + faults) { throw problem }
        return change
    }

    private static func change(
        _ body: JSONValue, _ nothing: DeviceChange, namesDevice: Bool, _ faults: inout [Problem.Fault]
    ) -> DeviceChange {
        var change = nothing
        var members = body.members
        while let (name, value) = members.next() {
            let member = String(name)
            /// Null removes, as what is absent from the whole device is removed.
            func text() -> ByteText? {
                if value.isNull { return nil }
                if let text = value.string { return ByteText(String(text)) }
                fault(member, "\(member) is no text", &faults)
                return nil
            }
            switch member {
            case "device" where namesDevice: break
            case "address":
                if value.isNull {
                    change.address = .remove
                    break
                }
                guard let address = address(value) else {
                    fault(member, "address is no address; allowed are \(allowedAddress)", &faults)
                    break
                }
                if placeholders.contains(address.value) {
                    fault(
                        member, "address.value is \(address.value): the app had no address when it sent this", &faults)
                }
                change.address = .set(address)
            case "app":
                change.app = text()
                if value.isNull, !change.isWhole { fault(member, missingApp, &faults) }
            case "environment":
                if value.isNull, !change.isWhole { change.environment = .production }
                guard let found = text() else { break }
                change.environment = PushEnvironment(rawValue: found.text)
                if change.environment == nil {
                    fault(member, "environment is neither production nor development", &faults)
                }
            case "locale": change.locale = text().map { .set($0) } ?? .remove
            case "time_zone":
                let zone = text()
                if let zone, !isTimeZone(zone.text) {
                    fault(member, "time_zone is no name of a time zone; allowed is one such as Europe/Berlin", &faults)
                }
                change.timeZone = zone.map { .set($0) } ?? .remove
            case "person": change.person = text().map { .set($0) } ?? .remove
            case "audiences":
                guard let audiences = value.isNull && !change.isWhole ? [] : value.texts else {
                    fault(member, "audiences is no list of texts", &faults)
                    break
                }
                change.audiences = audiences
            case "generation":
                change.generation = value.integer.flatMap { DeviceChange.generations.contains($0) ? $0 : nil }
                if change.generation == nil {
                    fault(
                        member, "generation is no whole number from 0 to \(DeviceChange.generations.upperBound)",
                        &faults)
                }
            default:
                fault(
                    member,
                    "there is no such member; allowed are address, app, environment, locale, time_zone, person, audiences and generation",
                    &faults)
            }
        }
        guard change.isWhole else { return change }
        if change.app == nil { fault("app", missingApp, &faults) }
        // A wrong guess would look like a dead device.
        if case .set(let address) = change.address, address.kind == .apnsToken, change.environment == nil {
            fault("environment", "environment is missing; for APNs allowed are production and development", &faults)
        }
        return change
    }

    /// What apps send that have turned nothing into a text.
    private static let placeholders: Set<ByteText> = ["undefined", "null", "(null)", "nil", "BLACKLISTED"]

    /// Whether this system knows a zone of this name. Only what looks like one is looked up, which is by a path.
    private static func isTimeZone(_ name: String) -> Bool {
        name.utf8.count <= 64 && name.wholeMatch(of: /[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*/) != nil
            && TimeZoneTable(identifier: name) != nil
    }

    private static let missingApp = "app is missing: the bundle id or package name"

    private static let allowedAddress =
        "an object with kind, one of \(AddressKind.allCases.map(\.rawValue).joined(separator: ", ")), and value, a text"

    private static func address(_ value: JSONValue) -> DeviceChange.NewAddress? {
        guard let kind = value.member("kind")?.string.flatMap({ AddressKind(rawValue: String($0)) }),
            let text = value.member("value")?.string
        else { return nil }
        var members = value.members
        while let (name, _) = members.next() { guard name == "kind" || name == "value" else { return nil } }
        return DeviceChange.NewAddress(kind, ByteText(String(text)))
    }

    private static func fault(_ member: String, _ detail: String, _ faults: inout [Problem.Fault]) {
        guard faults.count < Problem.mostFaults else { return }
        faults.append(Problem.Fault(pointer: "/" + RequestFinding.escape(member), .badRequest, detail: detail))
    }
}
