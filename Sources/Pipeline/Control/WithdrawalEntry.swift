import JSONReader
import NotificationPayload
import Notifications

/// Which older pushes to an address are not sent any more, since its device has lost what they were for: the value of a record
/// of `topic.control` with the key `address/<hash>/<command>` (docs/rules.md §13).
package struct WithdrawalEntry: Equatable, Sendable {
    private static let version: Int64 = 1

    package enum Extent: Equatable, Sendable {
        case everything
        /// Those for these audiences.
        case audiences(Set<Hash128>)
    }

    package var extent: Extent

    package init(_ extent: Extent) { self.extent = extent }

    /// Nil for another version, and for what is no such value.
    init?(_ value: [UInt8], _ reader: inout JSONReader) {
        let found: Extent? = value.withUnsafeBytes { bytes in
            guard let object = try? reader.parse(bytes), object.isObject,
                object.member("version")?.integer == Self.version
            else { return nil }
            guard let list = object.member("audiences_sha256") else { return .everything }
            guard list.isArray else { return nil }
            var audiences: Set<Hash128> = []
            var elements = list.elements
            while let element = elements.next() {
                guard let hash = element.string.flatMap({ Hash128(hex: String($0)) }) else { return nil }
                audiences.insert(hash)
            }
            return .audiences(audiences)
        }
        guard let found else { return nil }
        extent = found
    }

    /// The value of a record.
    ///
    /// - Parameter audiences: those whose pushes are meant; nil: all.
    package static func json(of audiences: [String]?) -> [UInt8] {
        var text = ByteWriter(capacity: 128)
        text.append(#"{"version":"#)
        text.append(decimal: version)
        if let audiences {
            text.append(#","audiences_sha256":["#)
            for (index, audience) in audiences.enumerated() {
                text.append(index == 0 ? #"""# : #",""#)
                text.append(AddressHash(of: audience).hex)
                text.append(#"""#)
            }
            text.append("]")
        }
        text.append("}")
        return Array(text.bytes)
    }

    /// How much it counts among those that are remembered.
    var weight: Int {
        switch extent {
        case .everything: 1
        case .audiences(let audiences): 1 + audiences.count
        }
    }

    func covers(_ audience: Hash128) -> Bool {
        switch extent {
        case .everything: true
        case .audiences(let audiences): audiences.contains(audience)
        }
    }
}
