import Digests
import Notifications

/// The first 128 bits of a SHA-256: by it a lane knows a request's id, an address and an audience.
package struct Hash128: Hashable, Sendable {
    private let first: UInt64
    fileprivate let second: UInt64

    /// - Parameter text: such as the header `request-id`.
    package init(_ text: UnsafeRawBufferPointer) {
        self = SHA256.withHash(of: text) { Self(hash: $0) }
    }

    /// - Parameter text: such as the header `request-id`.
    package init(_ text: String) {
        var text = text
        self = text.withUTF8 { Self(UnsafeRawBufferPointer($0)) }
    }

    /// - Parameter hash: its bytes.
    private init(hash: UnsafeRawPointer) {
        first = hash.loadUnaligned(as: UInt64.self)
        second = hash.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    }

    /// Of a SHA-256 in 64 digits of hex in lower case; nil for another text.
    package init?(hex: String) {
        guard let hash = AddressHash(hex: hex) else { return nil }
        self.init(hash)
    }

    package init(_ address: AddressHash) {
        self = address.bytes.withUnsafeBytes { bytes in
            // It has 32.
            bytes.baseAddress.map { Self(hash: $0) } ?? Self(bytes)
        }
    }
}

/// Values by their hashes. Parts of it are shared with its copies, so that a change copies one of them.
package struct SharedTable<Value: Sendable>: Sendable {
    private var parts = [[Hash128: Value]](repeating: [:], count: 1_024)
    package private(set) var count = 0

    subscript(key: Hash128) -> Value? {
        get { parts[part(of: key)][key] }
        set {
            let part = part(of: key)
            count -= parts[part].count
            parts[part][key] = newValue
            count += parts[part].count
        }
    }

    private func part(of key: Hash128) -> Int { Int(key.second % UInt64(parts.count)) }
}
