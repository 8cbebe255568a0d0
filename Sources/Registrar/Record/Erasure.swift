import JSONReader
import Notifications

/// That a person was erased: one record of `notifications.erasures`. Its key is the hash of the person's id, in hex: the id
/// itself is to be forgotten.
package struct Erasure: Equatable, Sendable {
    private static let version: Int64 = 2
    /// Of its addresses. The devices of one person have 900; with more, those that were erased first are left out.
    package static let mostAddresses = 2_000

    package var person: PersonHash
    /// When the broker appended the command.
    package var at: WallTime
    /// When each address was erased with the person; also by earlier erasures, whose record this one replaces.
    package let addresses: [AddressHash: WallTime]

    package init(_ person: PersonHash, at time: WallTime, addresses: [AddressHash: WallTime] = [:]) {
        self.person = person
        at = time
        let latest = addresses.sorted { ($1.value, $0.key.hex) < ($0.value, $1.key.hex) }.prefix(Self.mostAddresses)
        self.addresses = Dictionary(uniqueKeysWithValues: latest.map { ($0.key, $0.value) })
    }

    /// The value of its record.
    var json: [UInt8] {
        var list = MemberList()
        list.add("version", Self.version)
        list.add("at", at)
        let addresses = addresses.sorted { $0.key.hex < $1.key.hex }
        list.add("addresses", json: .object(addresses.map { ($0.key.hex, .integer($0.value.milliseconds)) }))
        return list.bytes
    }

    /// Nil if it is not of this version's form.
    init?(_ person: PersonHash, _ json: [UInt8], _ reader: inout JSONReader) {
        let erasure = json.withUnsafeBytes { bytes -> Erasure? in
            guard let value = try? reader.parse(bytes), let members = StateMembers(value, version: Self.version),
                let at = members.time("at"), let addresses = members.object.member("addresses"), addresses.isObject
            else { return nil }
            var times: [AddressHash: WallTime] = [:]
            var cursor = addresses.members
            while let (name, time) = cursor.next() {
                guard let address = AddressHash(hex: String(name)), let time = time.integer else { return nil }
                times[address] = WallTime(milliseconds: time)
            }
            return Erasure(person, at: at, addresses: times)
        }
        guard let erasure else { return nil }
        self = erasure
    }
}
