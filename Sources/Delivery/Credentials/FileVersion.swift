import Digests

/// Whether the contents of a credential's file have changed. It keeps their SHA-256 and nothing of them.
package struct FileVersion: Equatable, Sendable {
    private var hash: [UInt8]?

    package init() {}

    /// Whether these contents are not those of the last call; true for the first.
    package mutating func take(_ contents: [UInt8]) -> Bool {
        var new = [UInt8](repeating: 0, count: 32)
        contents.withUnsafeBytes { bytes in
            new.withUnsafeMutableBytes { target in
                guard let base = target.baseAddress else { return }
                SHA256.hash(bytes, into: base)
            }
        }
        guard new != hash else { return false }
        hash = new
        return true
    }
}
