import JSONReader
import Notifications

/// That a person was erased: one record of `notifications.erasures`. Its key is the hash of the person's id, in hex: the id
/// itself is to be forgotten.
package struct Erasure: Equatable, Sendable {
    private static let version: Int64 = 1

    package var person: PersonHash
    /// When the broker appended the command.
    package var at: WallTime

    package init(_ person: PersonHash, at time: WallTime) {
        self.person = person
        at = time
    }

    /// The value of its record.
    var json: [UInt8] {
        var list = MemberList()
        list.add("version", Self.version)
        list.add("at", at)
        return list.bytes
    }

    /// Nil if it is not of this version's form.
    init?(_ person: PersonHash, _ json: [UInt8], _ reader: inout JSONReader) {
        let at = json.withUnsafeBytes { bytes -> WallTime? in
            guard let value = try? reader.parse(bytes) else { return nil }
            return StateMembers(value, version: Self.version)?.time("at")
        }
        guard let at else { return nil }
        self.init(person, at: at)
    }
}
