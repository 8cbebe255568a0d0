import Digests
import Foundation

/// Whether the contents of a credential's file have changed. It keeps their SHA-256 and nothing of them.
struct FileVersion {
    private let file: String
    private var hash: [UInt8]?

    /// Of what the file has now.
    init(of file: String) {
        self.file = file
        _ = hasChanged()
    }

    /// Whether its contents are not those of the last call. A file that cannot be read, as while it is replaced, has not
    /// changed.
    mutating func hasChanged() -> Bool {
        guard let contents = FileManager.default.contents(atPath: file) else { return false }
        let new = contents.withUnsafeBytes { bytes in
            SHA256.withHash(of: bytes) { Array(UnsafeRawBufferPointer(start: $0, count: 32)) }
        }
        guard new != hash else { return false }
        hash = new
        return true
    }
}
