import Foundation
import JSONReader

/// The file of keys, which is taken up again when it changes. One owner.
package struct KeyFile {
    private let path: String
    private var bytes: [UInt8]?

    package init(_ path: String) {
        self.path = path
    }

    /// - Returns: nil if it is what it was at the last call.
    /// - Throws: everything that is wrong with it; the next call looks again.
    package mutating func read() throws(InvalidForm) -> KeyRing? {
        let new = try Self.contents(path)
        guard new != bytes else { return nil }
        let ring = try KeyRing(json: new)
        bytes = new
        return ring
    }

    private static func contents(_ path: String) throws(InvalidForm) -> [UInt8] {
        guard let file = FileHandle(forReadingAtPath: path),
            let data = try? file.read(upToCount: KeyRing.mostBytes + 1)
        else { throw InvalidForm(problems: ["it cannot be read: \(path): \(String(cString: strerror(errno)))"]) }
        guard data.count <= KeyRing.mostBytes else {
            throw InvalidForm(problems: ["it is too large; allowed are \(KeyRing.mostBytes) bytes"])
        }
        return Array(data)
    }

    /// Writes a whole file, mode 0600, or leaves what was there.
    package static func write(_ ring: KeyRing, to path: String) throws(InvalidForm) {
        let (draft, bytes) = (path + ".new", Array(ring.json.utf8))
        unlink(draft)
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        let isWritten = file >= 0 && Glibc.write(file, bytes, bytes.count) == bytes.count
        guard isWritten, close(file) == 0, rename(draft, path) == 0 else {
            throw InvalidForm(problems: ["it cannot be written: \(path): \(String(cString: strerror(errno)))"])
        }
    }
}
