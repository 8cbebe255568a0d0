import JSONReader
import Notifications

extension PersonState {
    private static let version: Int64 = 1

    /// The value of its record.
    package var json: [UInt8] {
        var list = MemberList()
        list.add("version", Self.version)
        list.add("person", id)
        list.add("revision", revision)
        list.add("audiences", json: .texts(audiences))
        list.add("locale", locale)
        list.add("time_zone", timeZone)
        return list.bytes
    }

    /// Nil if it is not of this version's form.
    package init?(_ json: [UInt8], _ reader: inout JSONReader) {
        let state = json.withUnsafeBytes { bytes -> PersonState? in
            guard let value = try? reader.parse(bytes), let members = StateMembers(value, version: Self.version),
                let id = members.text("person"), let revision = members.integer("revision"),
                let audiences = members.texts("audiences")
            else { return nil }
            var state = PersonState(id, revision: revision)
            state.audiences = audiences
            state.locale = members.text("locale")
            state.timeZone = members.text("time_zone")
            return state
        }
        guard let state else { return nil }
        self = state
    }
}
