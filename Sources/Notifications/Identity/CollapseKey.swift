import Digests

/// The key by which providers replace a notification (docs/rules.md §8.5).
package enum CollapseKey {
    /// The length of a hash that takes a key's place.
    package static let hashCount = 64

    /// Whether a provider's header can hold it: at most 64 bytes of visible ASCII.
    package static func isSafe(_ key: UnsafeRawBufferPointer) -> Bool {
        !key.isEmpty && key.count <= 64 && key.allSatisfy { $0 >= 0x21 && $0 <= 0x7E }
    }

    /// Writes the SHA-256 of a key in ``hashCount`` hex digits.
    package static func writeHash(of key: UnsafeRawBufferPointer, to buffer: UnsafeMutablePointer<UInt8>) {
        SHA256.withHash(of: key) { Hex.write($0, to: buffer) }
    }
}
