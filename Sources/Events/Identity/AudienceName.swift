import Digests

/// The names of audiences that a request may use (docs/rules.md §8.2).
package enum AudienceName {
    package static let maxCount = 1_024

    /// `place/<id>`, `user/<id>`, `channel/<id>` or `device/<SHA-256 of the token>`.
    package static func isValid(_ name: UnsafeRawBufferPointer) -> Bool {
        guard name.count <= maxCount, name.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return false }
        if name.hasPrefix("device/") { return Hex.isHash(UnsafeRawBufferPointer(rebasing: name[7...])) }
        return name.count > 6 && name.hasPrefix("place/") || name.count > 5 && name.hasPrefix("user/")
            || name.count > 8 && name.hasPrefix("channel/")
    }
}
