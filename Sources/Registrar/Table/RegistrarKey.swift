import Digests
import Notifications

/// The keys of the registrar's table: a letter, then what is looked up, then what tells its entries apart.
enum RegistrarKey {
    /// What entries are found by together, and staged by.
    struct Group: Hashable {
        var bytes: [UInt8]
    }

    /// A device's state.
    static func device(_ id: DeviceID) -> Group { Group(bytes: [UInt8(ascii: "D")] + Array(id.text.utf8)) }
    /// Whose an address is.
    static func owner(_ address: AddressHash) -> Group { Group(bytes: [UInt8(ascii: "A")] + address.bytes) }
    /// A person's state.
    static func person(_ id: ByteText) -> Group { Group(bytes: [UInt8(ascii: "H")] + hash(id)) }
    /// When a person was erased.
    static func erasure(_ person: PersonHash) -> Group { Group(bytes: [UInt8(ascii: "E")] + person.bytes) }
    /// When an address was erased.
    static func erasure(_ address: AddressHash) -> Group { Group(bytes: [UInt8(ascii: "X")] + address.bytes) }
    /// The addresses that are subscribed to `user/<id>`: each entry ends with the hash of one.
    static func addresses(of person: ByteText) -> Group { Group(bytes: [UInt8(ascii: "V")] + hash(person)) }
    /// A person's devices: each entry ends with the id of one.
    static func devices(of person: ByteText) -> Group { Group(bytes: [UInt8(ascii: "P")] + hash(person)) }
    /// An address's subscriptions: each entry ends with the hash of an audience.
    static func subscriptions(of address: AddressHash) -> Group { Group(bytes: [UInt8(ascii: "S")] + address.bytes) }

    /// Who is subscribed to an audience: each entry ends with the hash of an address.
    static func subscribers(of audience: ByteText) -> Group { subscribers(ofHashed: hash(audience)) }

    /// - Parameter audience: its hash, of which the table of subscriptions has the first bytes.
    static func subscribers(ofHashed audience: some Sequence<UInt8>) -> Group {
        Group(bytes: [UInt8(ascii: "U")] + audience.prefix(TableEntry.audienceCount))
    }

    /// 32 bytes: a person's id, or an audience, may be longer than a key.
    static func hash(_ text: ByteText) -> [UInt8] {
        var text = text.text
        return text.withUTF8 { text in
            SHA256.withHash(of: UnsafeRawBufferPointer(text)) { Array(UnsafeRawBufferPointer(start: $0, count: 32)) }
        }
    }
}

/// The SHA-256 of a person's id, 32 bytes: what is kept of a person who was erased.
package struct PersonHash: Hashable, Sendable {
    /// 64 digits of hex in lower case.
    package let hex: String
    let bytes: [UInt8]

    package init(_ person: ByteText) {
        hex = SHA256.hex(of: person.text)
        bytes = RegistrarKey.hash(person)
    }

    /// Nil unless these are 64 digits of hex in lower case.
    package init?(hex: String) {
        guard let address = AddressHash(hex: hex) else { return nil }
        (self.hex, bytes) = (hex, address.bytes)
    }
}
