import Digests

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
    static func erasure(_ id: ByteText) -> Group { Group(bytes: [UInt8(ascii: "E")] + hash(id)) }
    /// A person's devices: each entry ends with the id of one.
    static func devices(of person: ByteText) -> Group { Group(bytes: [UInt8(ascii: "P")] + hash(person)) }
    /// An address's subscriptions: each entry ends with the hash of an audience.
    static func subscriptions(of address: AddressHash) -> Group { Group(bytes: [UInt8(ascii: "S")] + address.bytes) }

    /// 32 bytes: a person's id, or an audience, may be longer than a key.
    static func hash(_ text: ByteText) -> [UInt8] {
        var text = text.text
        return text.withUTF8 { text in
            SHA256.withHash(of: UnsafeRawBufferPointer(text)) { Array(UnsafeRawBufferPointer(start: $0, count: 32)) }
        }
    }
}
